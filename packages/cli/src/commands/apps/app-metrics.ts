// `skerry app metrics`: requests of an app over time.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples, given } from "../../input/options.ts";
import { sizeText } from "../../output/byte-sizes.ts";
import { timeMeant } from "../../output/relative-times.ts";

interface MetricsFlags {
  readonly since?: string;
  readonly step?: string;
  readonly json?: boolean;
}

export function registerMetrics(app: Command, cli: Cli): void {
  const command = app
    .command("metrics")
    .description("Show requests of an app by group and release, oldest first.")
    .argument("<app>", "name or id of the app")
    .option("--since <time>", "how far back, such as 2h, or a time (default: all that is kept, 24h)")
    .option("--step <duration>", "length of a line, from 5m to 24h (default: 5m)")
    .option("--json", "print JSON, as the API has it, with times in UTC")
    .action(async (name: string, flags: MetricsFlags, self: Command) => {
      const client = await cli.client(self);
      const since = flags.since === undefined ? undefined : timeMeant(flags.since);
      const query = given({ since, step: flags.step });
      const metrics = await client.apps.metrics(name, query, { signal: cli.signal });
      if (flags.json === true) return cli.output.json(metrics);
      if (metrics.items.length === 0) return cli.output.note("No request was counted yet.");
      await cli.output.table(
        ["FROM", "GROUP", "RELEASE", "REQUESTS", "4XX", "5XX", "RECEIVED", "SENT"],
        metrics.items.map((point) => [
          point.at.slice(0, "2026-11-20T16:20".length).replace("T", " "),
          ...[point.group, String(point.release), String(point.requests)],
          ...[String(point.client_errors), String(point.server_errors)],
          ...[point.received_bytes, point.sent_bytes].map(sizeText),
        ]),
        { whole: [0] },
      );
    });
  addExamples(command, "skerry app metrics shop", "skerry app metrics shop --since 6h --step 1h");
}
