// `skerry app metrics`: requests of an app over time.

import type { AppMetrics } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples, given } from "../../input/options.ts";
import { sizeText } from "../../output/byte-sizes.ts";
import { timeMeant } from "../../output/relative-times.ts";

interface MetricsFlags {
  readonly since?: string;
  readonly step?: string;
  readonly routes?: boolean;
  readonly json?: boolean;
}

export function registerMetrics(app: Command, cli: Cli): void {
  const command = app
    .command("metrics")
    .description("Show requests of an app by group and release, oldest first.")
    .argument("<app>", "name or id of the app")
    .option("--since <time>", "how far back, such as 2h, or a time (default: all that is kept, 24h)")
    .option("--step <duration>", "length of a line, from 5m to 24h (default: 5m)")
    .option("--routes", "answers by routes and their times, in the place of groups")
    .option("--json", "print JSON, as the API has it, with times in UTC")
    .action(async (name: string, flags: MetricsFlags, self: Command) => {
      const client = await cli.client(self);
      const since = flags.since === undefined ? undefined : timeMeant(flags.since);
      const query = given({ since, step: flags.step });
      const metrics = await client.apps.metrics(name, query, { signal: cli.signal });
      if (flags.json === true) return cli.output.json(metrics);
      if (flags.routes === true) return printRoutes(cli, metrics.routes);
      if (metrics.items.length === 0) return cli.output.note("No request was counted yet.");
      await cli.output.table(
        ["FROM", "GROUP", "RELEASE", "REQUESTS", "4XX", "5XX", "RECEIVED", "SENT"],
        metrics.items.map((point) => [
          minuteOf(point),
          ...[point.group, String(point.release), String(point.requests)],
          ...[String(point.client_errors), String(point.server_errors)],
          ...[point.received_bytes, point.sent_bytes].map(sizeText),
        ]),
        { whole: [0] },
      );
    });
  addExamples(
    command,
    "skerry app metrics shop",
    "skerry app metrics shop --routes",
    "skerry app metrics shop --since 6h --step 1h",
  );
}

function minuteOf({ at }: { readonly at: string }): string {
  return at.slice(0, "2026-11-20T16:20".length).replace("T", " ");
}

async function printRoutes(cli: Cli, points: AppMetrics["routes"]): Promise<void> {
  if (points.length === 0) return cli.output.note("No answer was counted yet.");
  const within = (ms: number | null): string => (ms === null ? "longer" : `${ms} ms`);
  await cli.output.table(
    ["FROM", "ROUTE", "ANSWERS", "4XX", "5XX", "P50", "P95", "P99"],
    points.map((point) => [
      ...[minuteOf(point), point.route_id ?? "its own address", String(point.answers)],
      ...[String(point.client_errors), String(point.server_errors)],
      ...[point.p50_ms, point.p95_ms, point.p99_ms].map(within),
    ]),
    { whole: [0] },
  );
}
