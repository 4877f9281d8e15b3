// What a VM has used, as the kernel counts it for its QEMU, its disk and its link. Pure functions parse the texts of /proc.

import { readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { VmSample } from "@skerry/contract/host-api/metrics";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import type { ProcessIdentity } from "../qemu/process.ts";

/** Linux reports hundredths of a second, and pages of 4 KiB on x86. */
const MS_PER_TICK = 10;
const PAGE_BYTES = 4_096;
/** Of `stat`, behind the program's name, which may hold anything. */
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;
const START_TICKS = 19;

export interface LinkTraffic {
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

export interface Measured {
  readonly process: ProcessIdentity;
  readonly folder: string;
  /** Of the machine's end of its link. */
  readonly traffic: LinkTraffic | undefined;
  /** Of the machine, since its boot. */
  readonly uptimeMs: number;
}

/** Undefined where its QEMU has ended. Files of /proc are read at once: they wait for no disk, and are a tenth of the work then. */
export async function measureVm(
  { process, folder, traffic, uptimeMs }: Measured,
  atMs: number,
): Promise<VmSample | undefined> {
  const { pid, startTicks } = process;
  const texts = readTexts(pid);
  const use = texts === undefined ? undefined : processUse(texts);
  if (use?.startTicks !== startTicks) return undefined;
  const disk = await stat(join(folder, vmPaths.disk)).catch(() => undefined);
  return {
    at_ms: atMs,
    life: startTicks,
    age_ms: Math.max(0, Math.floor(uptimeMs - startTicks * MS_PER_TICK)),
    cpu_ms: use.cpuMs,
    memory_bytes: use.memoryBytes,
    disk_bytes: (disk?.blocks ?? 0) * 512,
    disk_read_bytes: use.readBytes,
    disk_written_bytes: use.writtenBytes,
    // What the machine's end sends the guest receives.
    network_received_bytes: traffic?.sentBytes ?? 0,
    network_sent_bytes: traffic?.receivedBytes ?? 0,
  };
}

interface ProcessTexts {
  readonly stat: string;
  readonly statm: string;
  readonly io: string;
}

function readTexts(pid: number): ProcessTexts | undefined {
  const read = (name: string): string => readFileSync(`/proc/${pid}/${name}`, "latin1");
  try {
    return { stat: read("stat"), statm: read("statm"), io: read("io") };
  } catch {
    return undefined;
  }
}

export function processUse({ stat, statm, io }: ProcessTexts): {
  readonly startTicks: number;
  readonly cpuMs: number;
  readonly memoryBytes: number;
  readonly readBytes: number;
  readonly writtenBytes: number;
} {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const field = (index: number): number => Number(fields[index] ?? 0);
  const [, resident = 0, shared = 0] = statm.split(" ").map(Number);
  const counted = (name: string): number => Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(io)?.[1] ?? 0);
  return {
    startTicks: field(START_TICKS),
    cpuMs: (field(USER_TICKS) + field(SYSTEM_TICKS)) * MS_PER_TICK,
    memoryBytes: Math.max(0, resident - shared) * PAGE_BYTES,
    readBytes: counted("read_bytes"),
    writtenBytes: counted("write_bytes"),
  };
}

/** Of /proc/net/dev: what each link has carried. */
export function linkTraffic(devices: string): ReadonlyMap<string, LinkTraffic> {
  return new Map(
    devices
      .split("\n")
      .slice(2)
      .flatMap((line) => {
        const [name, numbers] = line.split(":");
        if (name === undefined || numbers === undefined) return [];
        const columns = numbers.trim().split(/\s+/).map(Number);
        return [[name.trim(), { receivedBytes: columns[0] ?? 0, sentBytes: columns[8] ?? 0 }] as const];
      }),
  );
}
