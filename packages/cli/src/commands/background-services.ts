// `skerry background-service`: what the control plane does by itself, for the operator.

import { setTimeout as sleep } from "node:timers/promises";
import type { BackgroundService, Skerry } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { CliError } from "../errors/errors.ts";
import { addExamples } from "../input/options.ts";
import { relativeTime } from "../output/relative-times.ts";
import { addListCommand } from "./resources/resource-commands.ts";

interface Flags {
  readonly json?: boolean;
}

interface RunFlags extends Flags {
  readonly wait?: boolean;
}

const HEADINGS = ["NAME", "STATUS", "LAST RUN", "OUTCOME", "DID"];
const LOOK_EVERY_MS = 250;
/** More than control gives a run. */
const RUN_WITHIN_MS = 150_000;

export function registerBackgroundServiceCommands(program: Command, cli: Cli): void {
  const parent = program
    .command("background-service")
    .alias("service")
    .description("What the control plane does by itself, for the operator.");
  addListCommand<BackgroundService>(parent, cli, {
    description: "List the background services, when each has run, and what came of it.",
    examples: ["skerry background-service list"],
    read: ({ backgroundServices }, _query, options) => backgroundServices.list(options),
    columns: HEADINGS.map((heading, index) => [heading, (service) => rowOf(service)[index] ?? "-"]),
    layout: { whole: [1, 2, 3] },
  });
  const run = parent
    .command("run")
    .description("Have one run now. Answers before it has run, or with --wait says what came of it.")
    .argument("<name>", "as the list has it")
    .option("--wait", "wait for its end")
    .option("--json", "print JSON, as the API has it")
    .action(async (name: string, { wait = false, json }: RunFlags, self: Command) => {
      const { backgroundServices } = await cli.client(self);
      const due = await backgroundServices.run(name, { signal: cli.signal });
      if (!wait && json !== true) return cli.output.note(`${due.name} is due now.`);
      const service = wait ? await afterItsRun(cli, backgroundServices, due) : due;
      if (json === true) return cli.output.json(service);
      await cli.output.table(HEADINGS, [rowOf(service)], { whole: [1, 2, 3] });
    });
  addExamples(run, "skerry background-service run sandbox-reaper");
}

/** The service after the run that was asked for. Where it ran already, that is the second one to end. */
async function afterItsRun(
  cli: Cli,
  services: Skerry["backgroundServices"],
  due: BackgroundService,
): Promise<BackgroundService> {
  const deadline = AbortSignal.timeout(RUN_WITHIN_MS);
  const signal = AbortSignal.any([deadline, cli.signal]);
  let toEnd = due.status === "running" ? 2 : 1;
  let seen = due;
  while (toEnd > 0) {
    if (deadline.aborted)
      throw new CliError("timeout", `${due.name} has not ended within ${RUN_WITHIN_MS / 1_000} s.`, {
        remediation: "The log of control says what it does: journalctl -u skerry-control.",
      });
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    cli.signal.throwIfAborted();
    const now = await services.get(due.name, { signal: cli.signal });
    if (now.last_run?.ended_at !== seen.last_run?.ended_at) toEnd -= 1;
    seen = now;
  }
  return seen;
}

function rowOf({ name, status, last_run: run }: BackgroundService): string[] {
  if (run === null) return [name, status, "-", "-", "-"];
  const did = run.changed === null ? "-" : `${run.changed} of ${run.examined ?? "?"}`;
  return [name, status, relativeTime(run.ended_at), run.outcome, did];
}
