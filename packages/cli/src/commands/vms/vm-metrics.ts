// `metrics` of sandboxes and machines: what one has used over time.

import { parseDuration } from "@skerry/contract/durations";
import type { VmMetricsPoint } from "@skerry/sdk";
import type { Command } from "commander";
import { sizeText } from "../../output/byte-sizes.ts";
import type { Cli } from "../../cli.ts";
import { addExamples, given } from "../../input/options.ts";
import { timeMeant } from "../../output/relative-times.ts";
import { onTarget } from "../../targets.ts";
import { idArgument, type VmNoun } from "./vm-noun.ts";

interface MetricsFlags {
  readonly since?: string;
  readonly step?: string;
  readonly json?: boolean;
}

export function registerVmMetrics(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id } = vm;
  const command = parent
    .command("metrics")
    .description(`Show what a ${noun} has used of CPU, memory, disk and network, oldest first.`)
    .argument("<id>", idArgument(vm))
    .option("--since <time>", "how far back, such as 2h, or a time (default: all that is kept, 24h)")
    .option("--step <duration>", "length of a line, from 1m to 24h (default: 5m)")
    .option("--json", "print JSON, as the API has it, with times in UTC")
    .action(async (text: string, flags: MetricsFlags, self: Command) => {
      const client = await cli.client(self);
      const since = flags.since === undefined ? undefined : timeMeant(flags.since);
      const query = given({ since, step: flags.step });
      const metrics = await onTarget(vm.target(client, cli.signal), text, (target) =>
        vm.calls(client).metrics(target, query, { signal: cli.signal }),
      );
      if (flags.json === true) return cli.output.json(metrics);
      if (metrics.items.length === 0)
        await cli.output.note("Nothing was measured; the first time is within a minute.");
      const stepMs = parseDuration(metrics.step) ?? 1;
      await cli.output.table(
        ["FROM", "CPU", "MEMORY", "DISK", "READ", "WRITTEN", "RECEIVED", "SENT"],
        metrics.items.map((point) => rowOf(point, stepMs)),
        { whole: [0] },
      );
      if (metrics.damaged > 0) await cli.output.note(`${metrics.damaged} samples are damaged, and left out.`);
    });
  addExamples(command, `skerry ${noun} metrics ${id}`, `skerry ${noun} metrics ${id} --since 2h --step 1m`);
}

function rowOf(point: VmMetricsPoint, stepMs: number): string[] {
  return [
    point.at.slice(0, "2026-11-20T16:20".length).replace("T", " "),
    `${((point.cpu_seconds * 100_000) / stepMs).toFixed(1)} %`,
    ...[
      point.memory_bytes,
      point.disk_bytes,
      point.disk_read_bytes,
      point.disk_written_bytes,
      point.network_received_bytes,
      point.network_sent_bytes,
    ].map(sizeText),
  ];
}
