// `skerry run`: a command in a sandbox that is made for it, and gone after it.

import { SANDBOX_TIMEOUT_MAX_MS } from "@skerry/contract/bounds";
import { formatDuration, isNoBound, parseDuration } from "@skerry/contract/durations";
import type { Skerry } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../cli.ts";
import { CliError, exitCodes } from "../errors/errors.ts";
import { addSecretFlag, type SecretFlags } from "./vms/secret-flags.ts";
import { addEnvFlags, envOf, type EnvFlags } from "./vms/env-flags.ts";
import { addExamples, collectPath, durationOrNone, given } from "../input/options.ts";
import { readStandardInput, type StandardInput } from "../input/standard-input.ts";
import type { Guest } from "./copy/guest-copy.ts";
import { copyAllIn, copyAllOut, HOME, inward, outward, type CopyingOut } from "./copy/run-copies.ts";
import { chosenTemplate, firstUseHint } from "./vms/default-template.ts";
import { addInjectFlag } from "./vms/inject-flag.ts";
import { addEgressFlags, egressRequest, type EgressFlags } from "./vms/egress-flags.ts";
import { createInterruptibly } from "./vms/interruptible-create.ts";
import { EXIT_CODES, passOn, shellCommand } from "./vms/vm-exec.ts";
import { sandboxNoun } from "./vms/vm-noun.ts";

interface RunFlags extends EgressFlags, EnvFlags, SecretFlags {
  readonly template?: string;
  readonly name?: string;
  readonly size?: string;
  readonly timeout?: string;
  readonly workdir?: string;
  readonly copyIn?: readonly string[];
  readonly copyInAll?: boolean;
  readonly copyOut?: readonly string[];
  readonly copyOutOptional?: readonly string[];
  readonly keepOnFailure?: boolean;
  readonly stdin?: boolean;
  readonly detach?: boolean;
  readonly tty?: boolean;
}

const TIMEOUT = "5m";
/** Beside the command, for files on their way in and out. What this program leaves behind when it is killed lives no longer. */
const COPY_MS = 10 * 60_000;
/** For a person to look into it. */
const KEPT = "10m";
const DESTROY_WITHIN_MS = 15_000;

export function registerRun(program: Command, cli: Cli): void {
  const command = program
    .command("run")
    .description("Run a command in a new sandbox, which is destroyed after it, and exit with its code.")
    .usage("[options] -- <command...>")
    .argument("<command...>", "a program and its arguments, or one string for the shell")
    .option("--template <name>", "name or id; see `skerry template list` (default: base, or the only one)")
    .option("--name <name>", "a name that commands take in the place of its id while it runs")
    .option("--size <name>", "CPUs and memory; see `skerry size list` (default: shared-cpu-1x)")
    .option(
      "--timeout <duration>",
      "after which the command is killed; 0 for none (default: 5m). The sandbox lives 24h at most",
      durationOrNone,
    )
    .option("--workdir <path>", `directory to run it in (default: ${HOME})`)
    .option(
      "--copy-in <path[:target]>",
      `copy it into ${HOME} first, or to the target; repeatable`,
      collectPath,
    )
    .option(
      "--copy-in-all",
      "copy also what .dockerignore names, or without one .git, node_modules and the like",
    )
    .option(
      "--copy-out <path[:target]>",
      "copy it here afterwards, or to the target, also where the command has failed; * and ? match names; repeatable",
      collectPath,
    )
    .option("--copy-out-optional <path[:target]>", "the same of what may not be there", collectPath)
    .option("--keep-on-failure", "where it fails, leave the sandbox for 10 minutes to look into")
    .option("-d, --detach", "print the id of its execution and leave; the sandbox ends with the command")
    .option("-i, --stdin", "wait for standard input to its end, also where nothing comes for 2 s")
    .option("-n, --no-stdin", "leave standard input alone, as ssh -n does: needed in `while read` loops")
    .addOption(new Option("--rm", "a habit from elsewhere: a run's sandbox always goes").hideHelp())
    .addOption(new Option("-t, --tty", "a habit from elsewhere").hideHelp())
    .showHelpAfterError(
      "Write `skerry run -- COMMAND`: what stands behind `--` is the command's own; see --help.",
    );
  addInjectFlag(addEgressFlags(addSecretFlag(addEnvFlags(command)))).action(
    (words: readonly string[], flags: RunFlags, self: Command) => run(cli, { words, flags, self }),
  );
  command.addHelpText("after", EXIT_CODES);
  addExamples(
    command,
    "skerry run -- uname -a",
    "skerry run --egress-mode deny_all -- python3 -c 'print(6 * 7)'",
    "skerry run --env NPM_TOKEN --env-file ci.env -- ./deploy.sh",
    "skerry run --secret NPM_TOKEN -- npm publish",
    "skerry run --copy-in ./src --workdir /root/src --copy-out /root/src/report.xml -- make test",
    "skerry run 'wc -l' < words.txt",
    "skerry run --copy-out '/root/out/*.xml:reports/' --keep-on-failure -- ./test.sh",
    "skerry run --detach --timeout 2h -- python3 train.py",
  );
}

interface Call {
  readonly words: readonly string[];
  readonly flags: RunFlags;
  readonly self: Command;
}

async function run(cli: Cli, { words, flags, self }: Call): Promise<void> {
  cli.failedExitCode = exitCodes.notRun;
  checkFlags(flags);
  const { name, size, timeout = TIMEOUT } = flags;
  // Before anything is made: what is wrong here costs no sandbox. What the server refuses it says itself.
  const copies = { in: (flags.copyIn ?? []).map(inward), out: outOf(flags) };
  const lifeMs = Math.min(commandMs(timeout) + COPY_MS, SANDBOX_TIMEOUT_MAX_MS);
  const env = await envOf(flags);
  const client = await cli.client(self);
  // From here on Ctrl-C ends no process that has a sandbox to destroy.
  const { signal } = cli;
  const readsInput = flags.stdin !== false && flags.detach !== true;
  using input = readsInput ? await readStandardInput(cli, flags.stdin === true) : undefined;
  const template = await chosenTemplate(client, { flag: flags.template, argument: undefined }, signal);
  const request = {
    template,
    timeout: formatDuration(lifeMs),
    ...given({ name, size, env, secrets: flags.secret, egress: egressRequest(flags) }),
  };
  let id = "";
  let stays = false;
  await createInterruptibly(cli, {
    noun: "sandbox",
    hint: firstUseHint(size),
    create: (options) => client.sandboxes.create(request, options),
    destroy: (made, options) => client.sandboxes.destroy(made, options),
    tell: async (created) => void (id = created.id),
  });
  await using _sandbox = {
    [Symbol.asyncDispose]: async () => (stays ? undefined : destroy(cli, client, id)),
  };
  const made = { calls: sandboxNoun.calls(client), id, signal };
  await copyAllIn(cli, made, copies.in, flags.copyInAll !== true);
  const command = shellCommand(words);
  const options = given({ timeout, workdir: flags.workdir });
  if (flags.detach === true) {
    await detach(cli, made, { command, options });
    stays = true;
    return;
  }
  let failed = true;
  try {
    const execution = await attach(cli, made, { command, options, input });
    await copyAllOut(cli, made, copies.out);
    failed = cli.exitCode !== 0;
    // A run that went well is as quiet as its command.
    if (failed && execution !== undefined)
      await cli.output.note(`Its output is kept for a day: skerry runs logs ${execution}`);
  } finally {
    if (failed && flags.keepOnFailure === true && !signal.aborted) stays = await keep(cli, client, id);
  }
}

function outOf({ copyOut = [], copyOutOptional = [] }: RunFlags): readonly CopyingOut[] {
  return [
    ...copyOut.map((text) => outward(text, false)),
    ...copyOutOptional.map((text) => outward(text, true)),
  ];
}

/** Whether it stays. One that has ended itself cannot. */
async function keep(cli: Cli, { sandboxes }: Skerry, id: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(DESTROY_WITHIN_MS);
    const { expires_at } = await sandboxes.keepalive(id, KEPT, { signal });
    await cli.output.note(
      `The sandbox ${id} stays until ${expires_at}: skerry sandbox shell ${id}, skerry sandbox destroy ${id}`,
    );
    return true;
  } catch (error) {
    await cli.fail(error);
    return false;
  }
}

interface Work {
  readonly command: string;
  readonly options: { readonly timeout?: string; readonly workdir?: string };
}

async function detach(cli: Cli, { calls, id, signal }: Guest, { command, options }: Work): Promise<void> {
  const started = await calls.startExecution(id, command, { ...options, destroy_sandbox: true, signal });
  await cli.output.line(started.id);
  await cli.output.note(
    `It runs in ${id}, which ends with it. Its output: skerry runs logs --follow ${started.id}`,
  );
}

/** Returns the id of its execution, where it began. */
async function attach(
  cli: Cli,
  { calls, id, signal }: Guest,
  { command, options, input }: Work & { readonly input: StandardInput | undefined },
): Promise<string | undefined> {
  let execution: string | undefined;
  const events = calls.executeStream(id, command, {
    ...options,
    ...given({ stdin: input?.bytes }),
    keep_output: true,
    signal: input === undefined ? signal : AbortSignal.any([signal, input.late]),
    onExecution: (started) => void (execution = started),
  });
  try {
    cli.exitCode = await passOn(cli, events);
  } catch (error) {
    if (!signal.aborted) input?.late.throwIfAborted();
    throw error;
  }
  return execution;
}

function checkFlags(flags: RunFlags): void {
  if (flags.tty === true) throw noTerminal();
  if (flags.detach === true) checkDetached(flags);
}

/** It has a reader no more, who could wait for its end or send it input. */
function checkDetached({ copyOut, copyOutOptional, keepOnFailure, stdin }: RunFlags): void {
  const given = {
    ...{ "--copy-out": copyOut, "--copy-out-optional": copyOutOptional },
    ...{ "--keep-on-failure": keepOnFailure, "--stdin": stdin === true || undefined },
  };
  const flag = Object.entries(given).find(([, value]) => value !== undefined)?.[0];
  if (flag === undefined) return;
  throw new CliError("invalid_input", `--detach does not wait for the command, so ${flag} has no effect.`, {
    remediation: "Leave one of the two out. A detached command can upload what it makes itself.",
    exitCode: exitCodes.usage,
  });
}

/** As in `docker run --rm -it IMAGE sh`. */
function noTerminal(): CliError {
  return new CliError("invalid_input", "A command of `run` has no terminal.", {
    remediation:
      "Leave -t out: output is streamed, a pipe is read, and the sandbox goes by itself (--rm is needless). For a terminal: `skerry sandbox create`, then `skerry sandbox shell ID`.",
    exitCode: exitCodes.usage,
  });
}

/** Infinity for none: then the command ends with its sandbox at the latest. */
function commandMs(timeout: string): number {
  const ms = parseDuration(timeout) ?? Infinity;
  if (ms <= SANDBOX_TIMEOUT_MAX_MS || isNoBound(timeout)) return ms;
  throw new CliError("invalid_input", `A sandbox lives ${formatDuration(SANDBOX_TIMEOUT_MAX_MS)} at most.`, {
    remediation: `Write --timeout ${formatDuration(SANDBOX_TIMEOUT_MAX_MS)} or less. What runs on for ever is a machine: skerry machine create`,
    exitCode: exitCodes.usage,
  });
}

/** Says so where it cannot be destroyed; it then ends at its timeout. */
async function destroy(cli: Cli, { sandboxes }: Skerry, id: string): Promise<void> {
  try {
    await sandboxes.destroy(id, { signal: AbortSignal.timeout(DESTROY_WITHIN_MS) });
  } catch (error) {
    await cli.fail(error);
    await cli.output.note(
      `The sandbox ${id} was not destroyed; it ends at its timeout. skerry sandbox destroy ${id}`,
    );
  }
}
