// `skerry org limits`: how much the organization may do and hold, and how much of it is taken.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../options.ts";

export function registerLimitsCommand(org: Command, cli: Cli): void {
  const command = org
    .command("limits")
    .description(
      "Show how many requests each token may make (all together: twice as many), and what the organization may hold at once.",
    )
    .option("--json", "print JSON")
    .action(async (flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const limits = await client.limits({ signal: cli.signal });
      if (flags.json === true) return cli.output.json(limits);
      await cli.output.table(
        ["LIMIT", "USED", "AT MOST"],
        [
          ...Object.entries(limits.quotas).map(([name, { used, limit }]) => [
            name,
            String(used),
            String(limit),
          ]),
          ...Object.entries(limits.rates).map(([name, { per_minute, burst }]) => [
            `${name} requests of a token`,
            "",
            `${per_minute} a minute, ${burst} at once`,
          ]),
        ],
      );
    });
  addExamples(command, "skerry org limits", "skerry org limits --json | jq .quotas.sandboxes");
}
