// Guests that rest, in which no process is left, beside guests that idle, in which one sleeps.

import { freemem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { create, type Bench } from "../bench/bench.ts";
import { cpuTicks } from "../bench/pool.ts";
import type { Measure } from "../bench/results.ts";
import { inParallel, range, Series } from "../bench/series.ts";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { qemuPidOf, type Platform } from "../tests/support/platform.ts";
import type { Amount } from "./amounts.ts";

const BYTES_FOR_ONE = 128 * 1024 * 1024;
const AT_ONCE = 4;
/** A guest rests three seconds after its last operation. */
const SETTLE_MS = 6_000;
const TICKS_PER_S = 100;
const TIMER_S = 8;

export async function measureRest({ platform }: Bench, amount: Amount): Promise<Measure[]> {
  const count = Math.max(1, Math.min(amount.restingGuests, Math.floor(freemem() / BYTES_FOR_ONE / 2)));
  const resting: Sandbox[] = [];
  const idle: Sandbox[] = [];
  try {
    await inParallel(range(count), AT_ONCE, async () => void resting.push(await create(platform)));
    await inParallel(range(count), AT_ONCE, async () => {
      const sandbox = await create(platform);
      idle.push(sandbox);
      await sandbox.execute("sleep 3600 > /dev/null 2>&1 &");
    });
    await sleep(SETTLE_MS);
    return [
      await cpuOf(
        platform,
        resting,
        { what: `CPU of each of ${count} resting guests`, bar: "mean ≤ 0.2" },
        amount,
      ),
      await cpuOf(platform, idle, { what: `CPU of each of ${count} idle guests`, bar: "mean ≤ 2" }, amount),
      await timer(resting[0]),
    ];
  } finally {
    await inParallel([...resting, ...idle], AT_ONCE, (sandbox) => sandbox.destroy());
  }
}

async function cpuOf(
  platform: Platform,
  sandboxes: readonly Sandbox[],
  shape: Pick<Measure, "what" | "bar">,
  { restS }: Amount,
): Promise<Measure> {
  const series = new Series({ ...shape, unit: "%" });
  const pids = await Promise.all(sandboxes.map(({ info }) => qemuPidOf(platform, info.id)));
  const before = await Promise.all(pids.map(cpuTicks));
  await sleep(restS * 1_000);
  const after = await Promise.all(pids.map(cpuTicks));
  for (const [index, ticks] of after.entries())
    series.add(((ticks - (before[index] ?? 0)) / TICKS_PER_S / restS) * 100);
  return series.measure;
}

/** A process with a timer keeps its guest from rest, so the timer is in time also where the rest would have begun before. */
async function timer(sandbox: Sandbox | undefined): Promise<Measure> {
  const late = new Series({
    what: `a timer of ${TIMER_S} s in a guest that could rest is late by`,
    unit: "ms",
    bar: "≤ 500",
  });
  try {
    if (sandbox === undefined) throw new Error("there is no sandbox");
    const script = `a=$(date +%s%N); sleep ${TIMER_S}; b=$(date +%s%N); echo $(((b - a) / 1000000)) > /root/slept`;
    const startedMs = performance.now();
    await sandbox.execute(`(${script}) > /dev/null 2>&1 &`);
    // Nothing is asked of the guest meanwhile, which would keep it from rest.
    await sleep(TIMER_S * 1_000 + SETTLE_MS);
    const slept = await sandbox.execute("until test -s /root/slept; do sleep 0.1; done; cat /root/slept");
    const took = Number(slept.stdout);
    if (took > performance.now() - startedMs) throw new Error(`the guest says that it slept ${took} ms`);
    late.add(Math.max(0, took - TIMER_S * 1_000));
  } catch (error) {
    late.fail(error);
  }
  return late.measure;
}
