// `skerry background-service`: what the control plane does by itself, for the operator.

import type { BackgroundService } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples } from "../options.ts";
import { relativeTime } from "../relative-times.ts";

interface Flags {
  readonly json?: boolean;
}

export function registerBackgroundServiceCommands(program: Command, cli: Cli): void {
  const parent = program
    .command("background-service")
    .description("What the control plane does by itself, for the operator.");
  const list = parent
    .command("list")
    .description("List the background services, when each has run, and what came of it.")
    .option("--json", "print JSON, as the API has it")
    .action(async (flags: Flags, self: Command) => {
      const client = await cli.client(self);
      const items = await client.backgroundServices.list({ signal: cli.signal });
      if (flags.json === true) return cli.output.json({ items });
      await cli.output.table(["NAME", "STATUS", "LAST RUN", "OUTCOME", "DID"], items.map(rowOf), {
        whole: [1, 2, 3],
      });
    });
  addExamples(list, "skerry background-service list");
  const run = parent
    .command("run")
    .description("Have one run now. Answers before it has run.")
    .argument("<name>", "as the list has it")
    .option("--json", "print JSON, as the API has it")
    .action(async (name: string, flags: Flags, self: Command) => {
      const client = await cli.client(self);
      const service = await client.backgroundServices.run(name, { signal: cli.signal });
      if (flags.json === true) return cli.output.json(service);
      await cli.output.note(`${service.name} is due now.`);
    });
  addExamples(run, "skerry background-service run sandbox-reaper");
}

function rowOf({ name, status, last_run: run }: BackgroundService): string[] {
  if (run === null) return [name, status, "-", "-", "-"];
  const did = run.changed === null ? "-" : `${run.changed} of ${run.examined ?? "?"}`;
  return [name, status, relativeTime(run.ended_at), run.outcome, did];
}
