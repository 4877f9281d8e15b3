// `file` of sandboxes and machines: what is known of a file there, and what becomes of it.

import type { Command } from "commander";
import type { FileInfo, FileSystem } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { onTarget } from "../../targets.ts";
import { idArgument, type VmNoun } from "./vm-noun.ts";

export function registerVmFile(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id: example } = vm;
  const file = parent
    .command("file")
    .description(`Files of a ${noun}: see what they are, make directories, move and remove them.`);
  addExamples(
    file,
    `skerry ${noun} file stat ${example} /etc/hostname`,
    `skerry ${noun} file mkdir ${example} /srv/data`,
    `skerry ${noun} file rm ${example} /srv/data --recursive`,
  );
  const add = (name: string, description: string) =>
    file.command(name).description(description).argument("<id>", idArgument(vm));
  const on: OnFiles = async (self, text, work) => {
    const client = await cli.client(self);
    return onTarget(vm.target(client, cli.signal, "file"), text, (id) => work(vm.calls(client).files(id)));
  };
  registerStat(cli, add("stat", "Show type, size, permissions, owner and time."), on);
  registerMkdir(cli, add("mkdir", "Make a directory, and the missing ones above it."), on);
  registerMv(cli, add("mv", "Move a file or a directory. A file that is there is replaced."), on);
  registerChmod(cli, add("chmod", "Set permissions."), on);
  registerRm(cli, add("rm", "Remove a file, a link or an empty directory."), on);
}

type OnFiles = <T>(self: Command, text: string, work: (files: FileSystem) => Promise<T>) => Promise<T>;

interface JsonFlag {
  readonly json?: boolean;
}

function registerStat(cli: Cli, command: Command, on: OnFiles): void {
  command
    .argument("<path>", "absolute path")
    .option("--follow", "of a link, show what it leads to")
    .option("--json", "print JSON")
    .action(
      async (text: string, path: string, flags: JsonFlag & { readonly follow?: boolean }, self: Command) => {
        const options = { follow: flags.follow, signal: cli.signal };
        await show(cli, flags, await on(self, text, (files) => files.stat(path, options)));
      },
    );
}

function registerMkdir(cli: Cli, command: Command, on: OnFiles): void {
  command
    .argument("<path>", "absolute path")
    .option("--mode <octal>", "permissions (default: 0755)")
    .option("--json", "print JSON")
    .action(
      async (text: string, path: string, flags: JsonFlag & { readonly mode?: string }, self: Command) => {
        const options = { mode: flags.mode, signal: cli.signal };
        await show(cli, flags, await on(self, text, (files) => files.makeDirectory(path, options)));
      },
    );
}

function registerMv(cli: Cli, command: Command, on: OnFiles): void {
  command
    .argument("<from>", "absolute path")
    .argument("<to>", "absolute path, with the name that it gets")
    .option("--json", "print JSON")
    .action(async (text: string, from: string, to: string, flags: JsonFlag) => {
      const options = { signal: cli.signal };
      await show(cli, flags, await on(command, text, (files) => files.move(from, to, options)));
    });
}

function registerChmod(cli: Cli, command: Command, on: OnFiles): void {
  command
    .argument("<mode>", "octal, such as 0755")
    .argument("<path>", "absolute path")
    .option("--json", "print JSON")
    .action(async (text: string, mode: string, path: string, flags: JsonFlag) => {
      const options = { signal: cli.signal };
      await show(cli, flags, await on(command, text, (files) => files.setMode(path, mode, options)));
    });
}

function registerRm(cli: Cli, command: Command, on: OnFiles): void {
  command
    .argument("<path>", "absolute path")
    .option("-r, --recursive", "a directory with all that is in it")
    .action(async (text: string, path: string, flags: { readonly recursive?: boolean }, self: Command) => {
      const options = { recursive: flags.recursive, signal: cli.signal };
      await on(self, text, (files) => files.remove(path, options));
    });
}

function show(cli: Cli, { json }: JsonFlag, info: FileInfo): Promise<void> {
  if (json === true) return cli.output.json(info);
  const { path, type, size, mode, owner, group, modified, target } = info;
  const shown = target === undefined ? path : `${path} -> ${target}`;
  return cli.output.line(`${type} ${mode} ${owner} ${group} ${size} ${modified} ${shown}`);
}
