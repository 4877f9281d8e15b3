// `skerry app failures`: requests of an app that were answered with 5xx.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples, given } from "../../input/options.ts";
import { timeMeant } from "../../output/relative-times.ts";

interface FailureFlags {
  readonly since?: string;
  readonly json?: boolean;
}

export function registerFailures(app: Command, cli: Cli): void {
  const command = app
    .command("failures")
    .description("Show requests of an app that were answered with 5xx, oldest first, and why.")
    .argument("<app>", "name or id of the app")
    .option("--since <time>", "how far back, such as 2h, or a time (default: all that is kept, a week)")
    .option("--json", "print JSON, as the API has it, with times in UTC")
    .action(async (name: string, flags: FailureFlags, self: Command) => {
      const client = await cli.client(self);
      const query = given({ since: flags.since === undefined ? undefined : timeMeant(flags.since) });
      const failures = await client.apps.failures(name, query, { signal: cli.signal });
      if (flags.json === true) return cli.output.json(failures);
      const { items, unavailable } = failures;
      if (items.length === 0) await cli.output.note("No request has failed.");
      else
        await cli.output.table(
          ["AT", "STATUS", "REQUEST", "INSTANCE", "MS", "WHY"],
          items.map((one) => [
            ...[one.at.slice(0, "2026-11-20T16:20:00".length).replace("T", " "), String(one.status)],
            ...[`${one.method} ${one.path}`, one.instance ?? "-", String(one.ms), one.why],
          ]),
          { whole: [0] },
        );
      if (unavailable.length > 0)
        await cli.output.note(
          `Hosts ${unavailable.join(", ")} cannot be asked now: what they have is missing.`,
        );
    });
  addExamples(command, "skerry app failures shop", "skerry app failures shop --since 10m");
}
