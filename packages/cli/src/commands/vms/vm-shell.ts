// `skerry sandbox shell` and `attach`: a terminal in a microVM, as ssh is one on a machine.

import type { Shell, ShellOptions } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { terminalType } from "../../config.ts";
import { exitCodes } from "../../errors/errors.ts";
import { addEnvFlags, envOf, type EnvFlags } from "./env-flags.ts";
import { addExamples, given } from "../../input/options.ts";
import { onTarget, onTargetOnce } from "../../targets.ts";
import { RawTerminal } from "./raw-terminal.ts";
import { executionTarget } from "./execution-target.ts";
import { idArgument, type VmNoun } from "./vm-noun.ts";
import { shellCommand } from "./vm-exec.ts";

interface ShellFlags extends EnvFlags {
  readonly workdir?: string;
}

export function registerVmShell(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id } = vm;
  const command = parent
    .command("shell")
    .description(`Open a terminal in a ${noun}, with a login shell or a command.`)
    .usage("[options] <id> [-- <command...>]")
    .argument("<id>", idArgument(vm))
    .argument("[command...]", "what to run in the place of the shell")
    .option("--workdir <path>", "directory to begin in (default: /root)")
    .action(async (text: string, words: readonly string[], flags: ShellFlags, self: Command) => {
      const asked = given({
        workdir: flags.workdir,
        env: await envOf(flags),
        command: words.length === 0 ? undefined : shellCommand(words),
      });
      await openShell(cli, vm, { text, asked, self });
    });
  addEnvFlags(command).addHelpText("after", NOTES);
  addExamples(
    command,
    `skerry ${noun} shell ${id}`,
    `skerry ${noun} shell ${id} -- htop`,
    `skerry ${noun} shell ${id} --workdir /src --env TERM=xterm`,
  );
}

export function registerVmAttach(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id } = vm;
  const command = parent
    .command("attach")
    .description(`Be at the terminal of an execution of a ${noun}, beside those who are there already.`)
    .argument("<id>", idArgument(vm))
    .argument("<execution>", "id of the execution, or the beginning of it")
    .option("--read-only", "only watch: nothing that is typed is sent, and it waits for no reader")
    .action(
      async (text: string, execution: string, flags: { readonly readOnly?: boolean }, self: Command) => {
        const asked = { execution, ...given({ readOnly: flags.readOnly }) };
        await openShell(cli, vm, { text, asked, self });
      },
    );
  addExamples(command, `skerry ${noun} attach ${id} exe_01jd3...`);
}

const NOTES = `
Keys go to the program, Ctrl-C too. After Enter, ~. leaves, as in ssh. A connection that is lost is made again for 60 s;
the exit code is the program's own, and 125 where Skerry failed and not the program.`;

interface Opening {
  readonly text: string;
  readonly asked: ShellOptions;
  readonly self: Command;
}

/** `text`: name or id of the VM. */
export async function openShell(cli: Cli, vm: VmNoun, { text, asked, self }: Opening): Promise<void> {
  cli.failedExitCode = exitCodes.notRun;
  const client = await cli.client(self);
  const terminal = new RawTerminal();
  const isAttached = asked.execution !== undefined;
  const options: ShellOptions = {
    ...(isAttached ? {} : { tty: terminal.isTerminal }),
    ...terminal.size,
    ...asked,
    ...withTerm(asked.env, terminal.isTerminal && !isAttached),
    onConnection: (state) => void cli.output.note(connectionText[state]).catch(() => undefined),
  };
  const vms = vm.calls(client);
  const shell = await onTargetOnce(vm.target(client, cli.signal), text, (id) => {
    if (asked.execution === undefined) return vms.shell(id, options);
    const target = executionTarget(vm, vms, id, cli.signal);
    return onTarget(target, asked.execution, (execution) => vms.shell(id, { ...options, execution }));
  });
  cli.exitCode = await runShell(cli, shell, terminal, asked.readOnly === true);
}

/** What the person's own terminal is, which is what the program writes for. */
function withTerm(env: ShellOptions["env"], isTerminal: boolean): Pick<ShellOptions, "env"> {
  const term = terminalType();
  if (!isTerminal || term === undefined) return env === undefined ? {} : { env };
  return { env: { TERM: term, ...env } };
}

const connectionText = {
  lost: "\r\nThe connection was lost; trying again for 60 s. The program runs on.\r",
  restored: "\rThe connection is there again.\r",
} as const;

async function runShell(cli: Cli, shell: Shell, terminal: RawTerminal, isReadOnly: boolean): Promise<number> {
  using raw = terminal.begin({
    input: (bytes) => (isReadOnly ? Promise.resolve() : shell.write(bytes)),
    ended: () => void (isReadOnly ? undefined : shell.end()),
    resized: ({ cols, rows }) => void shell.resize(cols, rows),
    left: () => shell.close(),
  });
  if (terminal.isTerminal) {
    const { cols, rows } = terminal.size;
    await shell.resize(cols, rows);
  }
  for await (const { type, data } of shell) await cli.output.bytes(type, data);
  if (shell.exitCode !== undefined) return shell.exitCode;
  // Left by ~. or by a signal.
  return raw.exitCode;
}
