// `events` of sandboxes and machines: what has become of one, and why.

import type { VmEvent } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { onTarget } from "../../targets.ts";
import { idArgument, type VmNoun } from "./vm-noun.ts";

/** All that are kept. */
const LISTED_MAX = 500;

export function registerVmEvents(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id } = vm;
  const command = parent
    .command("events")
    .description(`List what has become of a ${noun}, and why, newest first.`)
    .argument("<id>", idArgument(vm))
    .option("--json", "print JSON, as the API has it, with times in UTC")
    .action(async (text: string, flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const page = await onTarget(vm.target(client, cli.signal), text, (target) =>
        vm.calls(client).events(target, { limit: LISTED_MAX }, { signal: cli.signal }),
      );
      if (flags.json === true) return cli.output.json(page);
      await cli.output.table(["WHEN", "EVENT", "WHY"], page.items.map(rowOf), { whole: [0, 1] });
    });
  addExamples(command, `skerry ${noun} events ${id}`);
}

function rowOf({ kind, reason, count, last_at }: VmEvent): string[] {
  const times = count > 1 ? ` (${count} times)` : "";
  return [relativeTime(last_at), kind.replaceAll("_", " "), `${reason ?? "-"}${times}`];
}
