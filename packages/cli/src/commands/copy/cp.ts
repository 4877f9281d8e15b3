// `skerry cp`: files and directories between this machine and a VM, by the rules of `docker cp`.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { STDIO } from "../vms/local-files.ts";
import { addExamples, byteCount } from "../../input/options.ts";
import { findVm } from "../vms/find-vm.ts";
import type { CopyFlags } from "./copy-in.ts";

export function registerCp(program: Command, cli: Cli): void {
  const command = program
    .command("cp")
    .description(
      "Copy files and directories between this machine and a sandbox or a machine, with permissions and links, as `docker cp` does.",
    )
    .argument("<source>", "local path, ID:PATH, or - for a tar archive from standard input")
    .argument("<target>", "local path, ID:PATH, or - for a tar archive to standard output")
    .option("-r, --recursive", "as without it: directories are copied whole")
    .option("-L, --follow-link", "where the source is a link, copy what it leads to")
    .option(
      "--max-size <bytes>",
      "break off when the copy takes more here: 500M, 2G (default: nine tenths of what is free)",
      byteCount,
    )
    .action((source: string, target: string, flags: CopyFlags, self: Command) =>
      copy(cli, { source, target, flags, self }),
    );
  addExamples(
    command,
    "skerry cp ./src web:/root/                  # becomes /root/src",
    "skerry cp ./src/. web:/srv                  # what is in src",
    "skerry cp sbx_01jd3...:/root/results .",
    "skerry cp web:/var/log - | tar tv",
  );
}

interface Call {
  readonly source: string;
  readonly target: string;
  readonly flags: CopyFlags;
  readonly self: Command;
}

async function copy(cli: Cli, { source, target, flags, self }: Call): Promise<void> {
  const [from, to] = [vmPlace(source), vmPlace(target)];
  if ((from === undefined) === (to === undefined)) throw onePlaceInVm(source, target);
  const client = await cli.client(self);
  if (to !== undefined) {
    const { copyIn } = await import("./copy-in.ts");
    const { noun, id } = await findVm(client, to.vm, cli.signal);
    const guest = { calls: noun.calls(client), id, signal: cli.signal };
    return copyIn(cli, guest, { source, target: to.path, flags });
  }
  if (from === undefined) return undefined;
  const { copyOut } = await import("./copy-out.ts");
  const { noun, id } = await findVm(client, from.vm, cli.signal);
  const guest = { calls: noun.calls(client), id, signal: cli.signal };
  return copyOut(cli, guest, { source: from.path, target, flags });
}

interface VmPlace {
  readonly vm: string;
  /** Absolute: `ID:tmp` is `/tmp`. */
  readonly path: string;
}

/** `ID:PATH`. A local path with a colon is written with a slash before it: `./a:b`. A name may have a colon
 *  itself, which no slash follows; the path behind it is then an absolute one. */
export function vmPlace(text: string): VmPlace | undefined {
  const colon = text.includes(":/") ? text.indexOf(":/") : text.indexOf(":");
  if (colon < 1 || text === STDIO || /^[./]/.test(text)) return undefined;
  const path = text.slice(colon + 1);
  return { vm: text.slice(0, colon), path: path.startsWith("/") ? path : `/${path}` };
}

function onePlaceInVm(source: string, target: string): CliError {
  const areBothInVms = vmPlace(source) !== undefined && vmPlace(target) !== undefined;
  return new CliError(
    "invalid_input",
    `One of "${source}" and "${target}" must be in a VM, and the other one here.`,
    {
      remediation: areBothInVms
        ? "Between two VMs, copy from the first one to here, and from here to the second."
        : "Write ID:PATH for the one in the VM; a local path with a colon begins with ./ or /.",
      exitCode: exitCodes.usage,
    },
  );
}
