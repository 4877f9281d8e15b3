// `upload`, `download` and `ls` of sandboxes and machines.

import { posix } from "node:path";
import { SkerryApiError, type DirectoryEntry, type FileSystem } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { bounded, openLocalFile, saveLocalFile, STDIO } from "./local-files.ts";
import { addExamples, byteCount } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { onTarget, onTargetOnce } from "../../targets.ts";
import { idArgument, type VmNoun } from "./vm-noun.ts";
import { counted } from "../../output/counted.ts";

export function registerVmFiles(parent: Command, cli: Cli, vm: VmNoun): void {
  registerUpload(parent, cli, vm);
  registerDownload(parent, cli, vm);
  registerLs(parent, cli, vm);
}

function registerUpload(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id: example } = vm;
  const command = parent
    .command("upload")
    .description(`Write a local file into a ${noun}. Missing directories are created; at most 100 MB.`)
    .argument("<id>", idArgument(vm))
    .argument("<local>", "local file, or - for standard input")
    .argument("<remote>", `absolute path in the ${noun}; with a slash at the end, the file keeps its name`)
    .option("--mode <octal>", "permissions (default: those of the local file, or 0644)")
    .option("--json", "print what was written as JSON");
  command.action((text: string, local: string, remote: string) =>
    upload(cli, command, { vm, text, local, remote }),
  );
  addExamples(
    command,
    `skerry ${noun} upload ${example} ./build.sh /root/`,
    `skerry ${noun} upload ${example} ./key /root/.ssh/id --mode 0600`,
    `tar cz src | skerry ${noun} upload ${example} - /root/src.tgz`,
  );
}

interface UploadFlags {
  readonly mode?: string;
  readonly json?: boolean;
}

interface Upload {
  readonly vm: VmNoun;
  /** What the user calls it. */
  readonly text: string;
  readonly local: string;
  readonly remote: string;
}

async function upload(cli: Cli, command: Command, { vm, text, local, remote }: Upload): Promise<void> {
  const { mode, json } = command.opts<UploadFlags>();
  const path = remoteFile(local, remote);
  const client = await cli.client(command);
  await using source = await openLocalFile(local);
  const written = await cli.waits.during(
    `Uploading ${local}`,
    (transfer) => {
      const onProgress = (bytes: number) => transfer.add(bytes);
      const options = { mode: mode ?? source.mode, onProgress, signal: cli.signal };
      const send = (id: string, to: string) => vm.calls(client).upload(id, to, source.content, options);
      const target = vm.target(client, cli.signal, "upload");
      if (local === STDIO) return onTargetOnce(target, text, (id) => send(id, path));
      return onTarget(target, text, (id) =>
        // Like `cp`: a directory takes the file under its own name.
        send(id, path).catch((error: unknown) => {
          if (!(error instanceof SkerryApiError) || error.code !== "path_is_directory") throw error;
          return send(id, posix.join(path, posix.basename(local)));
        }),
      );
    },
    { totalBytes: source.bytes },
  );
  if (json === true) return cli.output.json(written);
  await cli.output.line(`${written.path} ${counted(written.size, "byte")}`);
}

/** Like `cp`: into a directory, under the name that it has here. */
function remoteFile(local: string, remote: string): string {
  if (!remote.endsWith("/")) return remote;
  if (local !== STDIO) return remote + posix.basename(local);
  throw new CliError("invalid_input", "What comes from standard input has no name to put into a directory.", {
    remediation: "Give the whole path of the file in the VM.",
    exitCode: exitCodes.usage,
  });
}

function registerDownload(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id: example } = vm;
  const command = parent
    .command("download")
    .description(
      `Read a file of a ${noun}, with its permissions. A download that breaks off, or is too large, leaves no local file.`,
    )
    .argument("<id>", idArgument(vm))
    .argument("<remote>", `absolute path in the ${noun}`)
    .argument(
      "[local]",
      "local file or directory, or - for standard output (default: the same name, here)",
      ".",
    )
    .option(
      "--max-size <bytes>",
      "refuse a larger file: 1000, 20K, 500M, 2G (default: nine tenths of what is free here; none for standard output)",
      byteCount,
    );
  command.action(async (text: string, remote: string, local: string) => {
    const { maxSize: maxBytes } = command.opts<{ readonly maxSize?: number }>();
    const client = await cli.client(command);
    const options = { signal: cli.signal };
    const { content, mode } = await onTarget(vm.target(client, cli.signal, "download"), text, async (id) => {
      const calls = vm.calls(client);
      const stream = await calls.downloadStream(id, remote, options);
      const mode = local === STDIO ? undefined : await modeOf(calls.files(id), remote, cli.signal);
      return { content: stream, mode };
    });
    if (local === STDIO) {
      for await (const chunk of bounded(content, maxBytes)) await cli.output.bytes("stdout", chunk);
      return;
    }
    const { path, bytes } = await cli.waits.during(`Downloading ${remote}`, (transfer) =>
      saveLocalFile(content, local, {
        ...{ name: posix.basename(remote), maxBytes, mode },
        onProgress: (more) => transfer.add(more),
      }),
    );
    await cli.output.line(`${path} ${counted(bytes, "byte")}`);
  });
  addExamples(
    command,
    `skerry ${noun} download ${example} /root/result.json`,
    `skerry ${noun} download ${example} /root/src.tgz - | tar tz`,
  );
}

/** Without those that would run a program as its owner: who wrote it in the VM is not its owner here. */
async function modeOf(files: FileSystem, path: string, signal: AbortSignal): Promise<number | undefined> {
  try {
    const { mode } = await files.stat(path, { follow: true, signal });
    return Number.parseInt(mode, 8) & 0o777;
  } catch (error) {
    // A server, or a VM, of an earlier version does not tell; and what the download says of the file counts.
    if (error instanceof SkerryApiError) return undefined;
    throw error;
  }
}

function registerLs(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id: example } = vm;
  const command = parent
    .command("ls")
    .description(`List a directory of a ${noun}.`)
    .showHelpAfterError(`This lists a directory of one; \`skerry ${noun} list\` lists them all. See --help.`)
    .argument("<id>", idArgument(vm))
    .argument("[directory]", `absolute path in the ${noun}`, "/root")
    .option("--depth <levels>", "also list what is below it, as many levels as this, at most 64", levels)
    .option("--json", "print JSON, with names exactly as they are")
    .action(async (text: string, path: string, flags: LsFlags, self: Command) => {
      const client = await cli.client(self);
      const listing = await onTarget(vm.target(client, cli.signal, "ls"), text, (id) =>
        vm.calls(client).files(id).list(path, { depth: flags.depth, signal: cli.signal }),
      );
      if (flags.json === true) return cli.output.json(listing);
      await cli.output.table(
        ["TYPE", "MODE", "OWNER", "SIZE", "MODIFIED", "NAME"],
        listing.entries.map(entryRow),
      );
      if (listing.truncated) await cli.output.note("There are more entries than the server lists.");
    });
  addExamples(
    command,
    `skerry ${noun} ls ${example}`,
    `skerry ${noun} ls ${example} /var/log --json`,
    `skerry ${noun} ls ${example} /srv --depth 3`,
  );
}

interface LsFlags {
  readonly depth?: number;
  readonly json?: boolean;
}

const DEPTH_MAX = 64;

function levels(text: string): number {
  const depth = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (depth >= 1 && depth <= DEPTH_MAX) return depth;
  throw new CliError("invalid_input", `"${text}" is not a number of levels.`, {
    remediation: `Give a number from 1 to ${DEPTH_MAX}.`,
    exitCode: exitCodes.usage,
  });
}

/** A VM that an earlier version has started tells neither permissions nor owner. */
function entryRow({ type, mode, owner, size, modified, name, path, target }: DirectoryEntry): string[] {
  const shown = (path ?? name) + (target === undefined ? "" : ` -> ${target}`);
  return [type, mode ?? "-", owner ?? "-", String(size), relativeTime(modified), shown];
}
