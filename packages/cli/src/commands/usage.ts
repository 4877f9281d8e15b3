// `skerry usage`: what the organization has had over time.

import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples, given } from "../input/options.ts";
import { timeMeant } from "../output/relative-times.ts";

interface UsageFlags {
  readonly since?: string;
  readonly until?: string;
  readonly step?: string;
  readonly json?: boolean;
}

export function registerUsageCommand(program: Command, cli: Cli): void {
  const command = program
    .command("usage")
    .description(
      "Show how much the organization has had at once, how much it has made, and how many packets its egress rules refused, oldest first.",
    )
    .option("--since <time>", "how far back, such as 168h, or a time (default: 24h)")
    .option("--until <time>", "only what began before it: the same (default: now)")
    .option("--step <duration>", "length of a line: whole minutes, up to 24h (default: 1h)", "1h")
    .option("--json", "print JSON, as the API has it, with times in UTC")
    .action((flags: UsageFlags, self: Command) => showUsage(cli, flags, self));
  addExamples(
    command,
    "skerry usage",
    "skerry usage --since 168h --step 24h",
    "skerry usage --step 1m --json | jq '.items[-1].sandboxes'",
  );
}

async function showUsage(cli: Cli, { since, until, step, json }: UsageFlags, self: Command): Promise<void> {
  const client = await cli.client(self);
  const time = (text: string | undefined) => (text === undefined ? undefined : timeMeant(text));
  const usage = await client.usage(given({ since: time(since), until: time(until), step }), {
    signal: cli.signal,
  });
  if (json === true) return cli.output.json(usage);
  if (usage.items.length === 0) await cli.output.note("Nothing was measured then.");
  await cli.output.table(
    ["FROM", "SANDBOXES", "MACHINES", "VCPUS", "MEMORY", "DISK", "CREATED", "DENIED"],
    usage.items.map(({ at, sandboxes, machines, vcpus, memory_mib, disk_gib, created, denied }) => [
      at.slice(0, "2026-11-20T16:20".length).replace("T", " "),
      ...[sandboxes, machines, vcpus].map(String),
      `${(memory_mib / 1_024).toFixed(1)} GiB`,
      `${disk_gib} GiB`,
      String(created),
      String(denied),
    ]),
    { whole: [0] },
  );
}
