// Samples of a host as steps of a series. Pure.

import { SAMPLE_EVERY_MS, type VmSample } from "@skerry/contract/host-api/metrics";
import type { VmMetricsPoint } from "@skerry/contract/vms/metrics";

const counters = [
  "disk_read_bytes",
  "disk_written_bytes",
  "network_received_bytes",
  "network_sent_bytes",
] as const;

/**
 * `samples`: oldest first, with the last one before `sinceMs` where there is one, from which the first step counts. Steps begin at multiples of their
 * length. What two samples differ by belongs to the step of the later one; a new life counts from 0.
 */
export function metricsPoints(
  samples: readonly VmSample[],
  { sinceMs, stepMs }: { readonly sinceMs: number; readonly stepMs: number },
): VmMetricsPoint[] {
  const points = new Map<number, VmMetricsPoint>();
  for (const [index, sample] of samples.entries()) {
    if (sample.at_ms < sinceMs) continue;
    const startMs = Math.floor(sample.at_ms / stepMs) * stepMs;
    const used = usedSince(samples[index - 1], sample);
    points.set(startMs, added(points.get(startMs), used, startMs));
  }
  return [...points.values()];
}

function usedSince(before: VmSample | undefined, sample: VmSample): VmSample {
  const isFirst = before?.life !== sample.life;
  // Of one that is older, what was counted before the first sample that is left belongs to steps that are gone.
  if (isFirst && sample.age_ms <= 2 * SAMPLE_EVERY_MS) return sample;
  const base = isFirst ? sample : before;
  // A counter of a host that was wrong about it does not run backwards.
  const difference = (name: keyof VmSample): number => Math.max(0, sample[name] - base[name]);
  return {
    ...sample,
    cpu_ms: difference("cpu_ms"),
    ...(Object.fromEntries(counters.map((name) => [name, difference(name)])) as Pick<
      VmSample,
      (typeof counters)[number]
    >),
  };
}

const nothing = {
  ...{ cpu_seconds: 0, memory_bytes: 0, disk_read_bytes: 0, disk_written_bytes: 0 },
  ...{ network_received_bytes: 0, network_sent_bytes: 0 },
};

function added(point: VmMetricsPoint | undefined, used: VmSample, startMs: number): VmMetricsPoint {
  const before = point ?? nothing;
  return {
    at: new Date(startMs).toISOString(),
    // A sum of milliseconds, so that it has no more digits than they have.
    cpu_seconds: Math.round(before.cpu_seconds * 1_000 + used.cpu_ms) / 1_000,
    memory_bytes: Math.max(before.memory_bytes, used.memory_bytes),
    disk_bytes: used.disk_bytes,
    disk_read_bytes: before.disk_read_bytes + used.disk_read_bytes,
    disk_written_bytes: before.disk_written_bytes + used.disk_written_bytes,
    network_received_bytes: before.network_received_bytes + used.network_received_bytes,
    network_sent_bytes: before.network_sent_bytes + used.network_sent_bytes,
  };
}
