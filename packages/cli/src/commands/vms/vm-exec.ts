// `skerry sandbox exec` and `skerry machine exec`: like running the command here, with its bytes, its pace and its exit code.

import type { ExecuteExit } from "@skerry/contract/vms/execute";
import { commandLine, type ExecuteEvent } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { readStandardInput } from "../../input/standard-input.ts";
import { addEnvFlags, envOf, type EnvFlags } from "./env-flags.ts";
import { addExamples, durationOrNone, given } from "../../input/options.ts";
import { onTarget } from "../../targets.ts";
import { idArgument, type VmNoun } from "./vm-noun.ts";

interface ExecFlags extends EnvFlags {
  readonly tty?: boolean;
  readonly timeout?: string;
  readonly workdir?: string;
  /** Undefined where neither flag says. */
  readonly stdin?: boolean;
  readonly json?: boolean;
  readonly detach?: boolean;
}

export function registerVmExec(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id } = vm;
  const command = parent
    .command("exec")
    .description(
      "Run a command, stream its output and exit with its code. It reads what a pipe or a file gives this program on standard input.",
    )
    .usage("[options] <id> -- <command...>")
    .argument("<id>", idArgument(vm))
    .argument("<command...>", "a program and its arguments, or one string for the shell")
    .option("--timeout <duration>", "after which it is killed; 0 for none (default: 30s)", durationOrNone)
    .option("--workdir <path>", "directory to run it in (default: /root)")
    .option("-d, --detach", "print the id of its execution and leave; it runs on by itself")
    .option("-i, --stdin", "wait for standard input to its end, also where nothing comes for 2 s")
    .option("--json", "print errors of Skerry as JSON; needs `--` before the command")
    .option("-n, --no-stdin", "leave standard input alone, as ssh -n does: needed in `while read` loops")
    .addOption(new Option("-t, --tty", "a habit from elsewhere").hideHelp())
    .showHelpAfterError(
      `Write \`skerry ${noun} exec ID -- COMMAND\`: what stands behind \`--\` is the command's own; see --help.`,
    )
    .action(async (text: string, words: readonly string[], flags: ExecFlags, self: Command) => {
      if (flags.json === true && !cli.hasSeparator) throw whoseFlag();
      if (flags.tty === true) throw noTerminal(noun);
      cli.failedExitCode = exitCodes.notRun;
      const env = await envOf(flags);
      const client = await cli.client(self);
      const { timeout, workdir } = flags;
      if (flags.detach === true) {
        const detached = given({ timeout, workdir, env });
        const started = await onTarget(vm.target(client, cli.signal), text, (target) =>
          vm.calls(client).startExecution(target, shellCommand(words), { ...detached, signal: cli.signal }),
        );
        return cli.output.line(started.id);
      }
      using input = flags.stdin === false ? undefined : await readStandardInput(cli, flags.stdin === true);
      const signal = input === undefined ? cli.signal : AbortSignal.any([cli.signal, input.late]);
      const options = { ...given({ timeout, workdir, env, stdin: input?.bytes }), signal };
      try {
        // What is not there has run nothing, and the input has been read already.
        cli.exitCode = await onTarget(vm.target(client, cli.signal, "exec"), text, (target) =>
          passOn(cli, vm.calls(client).executeStream(target, shellCommand(words), options)),
        );
      } catch (error) {
        if (!cli.signal.aborted) input?.late.throwIfAborted();
        throw error;
      }
    });
  addEnvFlags(command).addHelpText("after", EXIT_CODES);
  addExamples(
    command,
    `skerry ${noun} exec ${id} -- ls -la /root`,
    `skerry ${noun} exec ${id} 'for i in 1 2 3; do echo $i; done | wc -l'`,
    `tar cz src | skerry ${noun} exec ${id} -- tar xz -C /root`,
    `skerry ${noun} exec ${id} --detach -- python3 train.py`,
    `skerry ${noun} exec ${id} --timeout 20m --workdir /src --env CI=1 -- make test`,
  );
}

/** Programs have the flag, too, and one that is left out of the command would change what it does. */
function whoseFlag(): CliError {
  return new CliError("invalid_input", "--json may be meant for the command, or for skerry.", {
    remediation:
      "Put `--` before the command: flags behind it are the command's, those before it are skerry's.",
    exitCode: exitCodes.usage,
  });
}

/** As in `docker exec -it`. */
function noTerminal(noun: VmNoun["noun"]): CliError {
  return new CliError("invalid_input", "A command of `exec` has no terminal.", {
    remediation: `\`skerry ${noun} shell ID -- COMMAND\` runs one at a terminal, and without a command opens a shell. Where -t is the command's own, put \`--\` before it.`,
    exitCode: exitCodes.usage,
  });
}

export const EXIT_CODES = `
Exit codes: the command's own (128 + the number of the signal that killed it), 124 where it was killed
at its timeout, 125 where Skerry failed and not the command, 2 for wrong usage. Standard input is at most
10 MiB, and is read to its end before the command starts; a pipe on which nothing comes for 2 s is empty.`;

/** One word is a shell command line; several are a program and its arguments, which the shell must leave alone. */
export function shellCommand(words: readonly string[]): string {
  return words.length === 1 ? (words[0] ?? "") : commandLine(words);
}

/** Writes the output as it comes, no faster than it is read, and returns the command's exit code. */
export async function passOn(cli: Cli, events: AsyncIterable<ExecuteEvent>): Promise<number> {
  let exitCode = 0;
  for await (const event of events) {
    if (event.type !== "exit") {
      await cli.output.bytes(event.type, event.data);
      continue;
    }
    exitCode = await tellExit(cli, event);
  }
  return exitCode;
}

/** Says what an exit code alone does not tell, and returns the one to exit with. */
export async function tellExit({ output }: Cli, exit: ExecuteExit): Promise<number> {
  if (exit.timed_out) await output.note("The command was killed at its timeout; --timeout sets another.");
  if (exit.oom_killed) await output.note("It ran out of memory, and a process was killed.");
  if (exit.truncated) await output.note("The output was too long; the rest of it was dropped.");
  return exit.timed_out ? exitCodes.timedOut : exit.exit_code;
}
