// Commands by hand: in a microVM of their own with the environment of an app, or in one of its instances.

import type { Skerry } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { exitCodes } from "../../errors/errors.ts";
import { addExamples, durationOrNone, given } from "../../input/options.ts";
import { readStandardInput } from "../../input/standard-input.ts";
import { onTarget } from "../../targets.ts";
import { EXIT_CODES, passOn, shellCommand } from "../vms/vm-exec.ts";
import { machineNoun } from "../vms/vm-noun.ts";
import { openShell } from "../vms/vm-shell.ts";
import { appMeant } from "./deploy.ts";

interface AppFlags {
  readonly app?: string;
}

interface RunFlags extends AppFlags {
  readonly size?: string;
  readonly timeout?: string;
  readonly stdin?: boolean;
}

const DELETE_WITHIN_MS = 15_000;

export function registerOneOffs(app: Command, cli: Cli): void {
  const run = begun(app, "run", "Run a command in a new microVM with the environment of the live release.")
    .usage("[options] -- <command...>")
    .argument("<command...>", "a program and its arguments, or one string for the shell")
    .option("--size <name>", "CPUs and memory; see `skerry size list` (default: shared-cpu-1x)")
    .option("--timeout <duration>", "after which it is killed (default: none)", durationOrNone)
    .option("-n, --no-stdin", "leave standard input alone")
    .action(async (words: readonly string[], flags: RunFlags, self: Command) => {
      cli.failedExitCode = exitCodes.notRun;
      const client = await cli.client(self);
      using input = flags.stdin === false ? undefined : await readStandardInput(cli, false);
      const options = {
        ...given({ stdin: input?.bytes, timeout: flags.timeout ?? durationOrNone("0") }),
        signal: cli.signal,
      };
      await using one = await oneOff(cli, client, flags);
      cli.exitCode = await passOn(cli, client.machines.executeStream(one.id, shellCommand(words), options));
    })
    .addHelpText("after", EXIT_CODES);
  addExamples(run, "skerry app run --app shop -- node migrate.js", "skerry app run 'env | sort'");
  const console = begun(
    app,
    "console",
    "Open a terminal in a new microVM with the environment of the live release.",
  )
    .option("--size <name>", "CPUs and memory; see `skerry size list` (default: shared-cpu-1x)")
    .action(async (flags: RunFlags, self: Command) => {
      const client = await cli.client(self);
      await using one = await oneOff(cli, client, flags);
      await openShell(cli, machineNoun, { text: one.id, asked: {}, self });
    });
  addExamples(console, "skerry app console --app shop");
  registerExec(app, cli);
}

function registerExec(app: Command, cli: Cli): void {
  const command = begun(app, "exec", "Run a command in an instance of an app, and exit with its code.")
    .usage("[options] <instance> -- <command...>")
    .argument("<instance>", "such as web.2; `skerry app show` lists them")
    .argument("<command...>", "a program and its arguments, or one string for the shell")
    .action(async (instance: string, words: readonly string[], flags: AppFlags, self: Command) => {
      cli.failedExitCode = exitCodes.notRun;
      const name = await appMeant(flags);
      const client = await cli.client(self);
      const target = machineNoun.target(client, cli.signal, "exec");
      cli.exitCode = await onTarget(target, `${name}/${instance}`, (id) =>
        passOn(cli, client.machines.executeStream(id, shellCommand(words), { signal: cli.signal })),
      );
    })
    .addHelpText("after", EXIT_CODES);
  addExamples(command, "skerry app exec web.2 --app shop -- ls /srv");
}

function begun(app: Command, name: string, description: string): Command {
  return app
    .command(name)
    .description(description)
    .option("--app <name>", "name or id of the app (default: that of skerry.toml)");
}

/** It is deleted after what is done with it, also where that is interrupted. */
async function oneOff(
  cli: Cli,
  client: Skerry,
  flags: RunFlags,
): Promise<AsyncDisposable & { readonly id: string }> {
  const app = await appMeant(flags);
  const { id } = await client.apps.createOneOff(app, given({ size: flags.size }), { signal: cli.signal });
  return {
    id,
    async [Symbol.asyncDispose]() {
      const signal = AbortSignal.timeout(DELETE_WITHIN_MS);
      await client.apps
        .deleteOneOff(app, id, { signal })
        .catch((error: unknown) => cli.output.note(`${id} ends when it has been idle: ${String(error)}`));
    },
  };
}
