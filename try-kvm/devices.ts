// A guest's devices: disk, console, the agent's channel, and the memory that it gives back.

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { create, type Bench } from "../bench/bench.ts";
import type { Measure } from "../bench/results.ts";
import { range, Series } from "../bench/series.ts";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { qemuPidOf, type Platform } from "../tests/support/platform.ts";
import type { Amount } from "./amounts.ts";

const FILL_MB = 60;
const GIVEN_BACK_WITHIN_S = 20;
const TIMEOUT = "5m";

export async function measureDevices({ platform }: Bench, amount: Amount): Promise<Measure[]> {
  const sandbox = await create(platform);
  try {
    return [
      ...(await disk(sandbox, amount.diskMb)),
      await console_(sandbox, amount.consoleKb),
      await channel(sandbox, amount.roundTrips),
      await balloon(platform, sandbox),
    ];
  } finally {
    await sandbox.destroy();
  }
}

async function disk(sandbox: Sandbox, mb: number): Promise<Measure[]> {
  const rate = (what: string): Series => new Series({ what, unit: "MB/s", bar: "median ≥ 100" });
  const [write, read] = [rate(`${mb} MB written to the guest's disk`), rate("… and read again")];
  await seconds(sandbox, write, mb, `dd if=/dev/zero of=/root/blk bs=1M count=${mb} conv=fdatasync`);
  await sandbox.execute("echo 3 > /proc/sys/vm/drop_caches");
  await seconds(sandbox, read, mb, "dd if=/root/blk of=/dev/null bs=1M");
  return [write.measure, read.measure];
}

async function console_(sandbox: Sandbox, kb: number): Promise<Measure> {
  const rate = new Series({ what: `${kb} kB to the console, in kB`, unit: "/s", bar: "median ≥ 100" });
  await seconds(sandbox, rate, kb, `head -c ${kb}000 /dev/zero | tr '\\0' x > /dev/console`);
  return rate.measure;
}

/** Adds how much of it there was in a second, by the guest's clock. */
async function seconds(sandbox: Sandbox, into: Series, units: number, command: string): Promise<void> {
  const timed = `a=$(date +%s%N); (${command}) 2>/dev/null && b=$(date +%s%N) && echo $((b - a))`;
  try {
    const { stdout, exit_code: exitCode } = await sandbox.execute(timed, { timeout: TIMEOUT });
    if (exitCode !== 0) throw new Error(`${command} failed`);
    into.add(units / (Number(stdout) / 1e9));
  } catch (error) {
    into.fail(error);
  }
}

/** Without a process in the guest. */
async function channel(sandbox: Sandbox, rounds: number): Promise<Measure> {
  const trip = new Series({ what: "a small file read over HTTP and the agent", unit: "ms", bar: "p99 ≤ 20" });
  for (const _ of range(rounds)) await trip.time(() => sandbox.download("/etc/hostname"));
  return trip.measure;
}

/** How much of what a guest has used and freed comes back to the machine. */
async function balloon(platform: Platform, sandbox: Sandbox): Promise<Measure> {
  const back = new Series({ what: "freed memory that comes back", unit: "%", bar: "median ≥ 50" });
  try {
    const pid = await qemuPidOf(platform, sandbox.info.id);
    const before = await rssMb(pid);
    await sandbox.execute(`yes x | head -c ${FILL_MB}000000 > /dev/shm/fill`, { timeout: TIMEOUT });
    const filled = await rssMb(pid);
    // The command keeps the guest from rest: its kernel reports what is free every two seconds.
    await sandbox.execute(`rm /dev/shm/fill; sleep 5`, { timeout: TIMEOUT });
    let least = await rssMb(pid);
    for (const _ of range(GIVEN_BACK_WITHIN_S)) {
      if (least < before + (filled - before) / 4) break;
      await sleep(1_000);
      least = Math.min(least, await rssMb(pid));
    }
    back.add(((filled - least) / (filled - before)) * 100);
  } catch (error) {
    back.fail(error);
  }
  return back.measure;
}

async function rssMb(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  return (Number(/^Rss:\s+(\d+) kB/m.exec(rollup)?.[1]) * 1_024) / 1_000_000;
}
