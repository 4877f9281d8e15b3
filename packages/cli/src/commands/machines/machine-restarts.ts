// `skerry machine restarts`: how a machine has ended, and when it ran again.

import { RESTARTS_KEPT } from "@skerry/contract/machines/machine-end";
import type { MachineEnd } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { onTarget } from "../../targets.ts";
import { idArgument, machineNoun } from "../vms/vm-noun.ts";

export function registerMachineRestarts(machine: Command, cli: Cli): void {
  const command = machine
    .command("restarts")
    .description(
      "List each time that a machine ended without being asked to, why, and when it ran again, newest first.",
    )
    .argument("<id>", idArgument(machineNoun))
    .option("--json", "print JSON, as the API has it, with times in UTC")
    .action(async (text: string, flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const page = await onTarget(machineNoun.target(client, cli.signal), text, (id) =>
        client.machines.restarts(id, { limit: RESTARTS_KEPT }, { signal: cli.signal }),
      );
      if (flags.json === true) return cli.output.json(page);
      await cli.output.table(["ENDED", "RAN AGAIN", "EXIT", "WHY"], page.items.map(rowOf), {
        whole: [0, 1, 2],
      });
    });
  addExamples(
    command,
    "skerry machine restarts web",
    "skerry machine restarts web --json | jq '.items[] | select(.out_of_memory)'",
  );
}

function rowOf({ ended_at, restarted_at, exit_code, signal, reason }: MachineEnd): string[] {
  const how = signal ?? (exit_code === null ? "-" : String(exit_code));
  return [relativeTime(ended_at), relativeTime(restarted_at), how, reason];
}
