// What a sandbox uses at this moment, as it sees that itself: for who asks before its host has measured it, which it does once a minute.

import type { Context } from "../context.ts";
import type { VmMetricsPoint } from "@skerry/contract/vms/metrics";
import { run } from "./guest-shell.ts";
import type { SandboxCall } from "./sandbox-call.ts";

const BETWEEN_S = 0.2;
const SCRIPT = `head -n 1 /proc/stat; sleep ${BETWEEN_S}; head -n 1 /proc/stat; grep -E '^(MemTotal|MemAvailable):' /proc/meminfo; df -k / | tail -n 1`;
const KIB = 1024;

type LivePoint = Pick<VmMetricsPoint, "at" | "memory_bytes" | "disk_bytes"> & {
  /** Of all CPUs, 0 to 1. */
  readonly cpu: number;
};

/** Undefined where it does not say it so that it can be read. */
export async function livePoint(context: Context, call: SandboxCall): Promise<LivePoint | undefined> {
  return readPoint(await run(context, call, SCRIPT), new Date());
}

/** More than an honest guest writes. */
const TEXT_MAX_CHARS = 10_000;

/** What a guest writes is as true as it likes. No pattern may read it in more than one way, or a guest holds up the whole process by a line of digits. */
export function readPoint(written: string, at: Date): LivePoint | undefined {
  const text = written.slice(0, TEXT_MAX_CHARS);
  const [before, after] = [...text.matchAll(/^cpu +(\d[\d ]*)$/gm)].map(([, times = ""]) =>
    times.trim().split(" ").map(Number),
  );
  const [, total] = /^MemTotal: +(\d{1,15}) kB$/m.exec(text) ?? [];
  const [, available] = /^MemAvailable: +(\d{1,15}) kB$/m.exec(text) ?? [];
  const [, used] = /^\S+ +\d+ +(\d{1,15}) +\d+ +\d+% /m.exec(text) ?? [];
  if (before === undefined || after === undefined || total === undefined || available === undefined)
    return undefined;
  return {
    at: at.toISOString(),
    cpu: shareOf(before, after),
    memory_bytes: Math.max(0, Number(total) - Number(available)) * KIB,
    disk_bytes: Number(used ?? 0) * KIB,
  };
}

/** Where a kernel writes its idle time, and that in which it waits for disks. */
const IDLE = [3, 4];

function shareOf(before: readonly number[], after: readonly number[]): number {
  const passed = after.map((time, index) => Math.max(0, time - (before[index] ?? 0)));
  const all = passed.reduce((sum, time) => sum + time, 0);
  const idle = IDLE.reduce((sum, index) => sum + (passed[index] ?? 0), 0);
  return all > 0 && Number.isFinite(all) ? (all - idle) / all : 0;
}
