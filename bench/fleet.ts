// Many that run at once: what one that idles takes, whether all answer, and how the API fares meanwhile.

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { qemuPidOf, type Platform } from "../tests/support/platform.ts";
import { create, expectSuccess, type Bench } from "./bench.ts";
import { cpuTicks } from "./pool.ts";
import type { Measure } from "./results.ts";
import { inParallel, range, Series } from "./series.ts";

const AT_ONCE = 4;
const SETTLE_MS = 3_000;
const PROBE_PAUSE_MS = 20;
const TICKS_PER_S = 100;

export async function measureFleet({ platform, scale }: Bench): Promise<Measure[]> {
  const { dense, all, idleS } = scale.fleet;
  const fleet: Sandbox[] = [];
  const made = new Series({
    what: `create, up to ${all} sandboxes, ${AT_ONCE} at a time`,
    unit: "ms",
    bar: "none fails",
    axis: "sandboxes that run",
  });
  const grow = (to: number): Promise<void> =>
    inParallel(range(to - fleet.length), AT_ONCE, async () => {
      const sandbox = await made.time(() => create(platform), fleet.length);
      if (sandbox !== undefined) fleet.push(sandbox);
    });
  try {
    await grow(dense);
    await sleep(SETTLE_MS);
    const idle = await weigh(platform, fleet, { wanted: dense, idleS });
    await grow(all);
    return [...idle, made.measure, ...(await exercise(platform, fleet, all))];
  } finally {
    await inParallel(fleet, AT_ONCE, (sandbox) => sandbox.destroy());
  }
}

async function weigh(
  platform: Platform,
  fleet: readonly Sandbox[],
  { wanted, idleS }: { wanted: number; idleS: number },
): Promise<Measure[]> {
  const memory = new Series({
    what: `memory (PSS) of an idle VM with a guest of 256 MiB, ${wanted} of them`,
    unit: "MiB",
    bar: "mean ≤ 32",
  });
  const cpu = new Series({ what: "… CPU of each, of one core", unit: "%", bar: "–" });
  const pids = await Promise.all(fleet.map(({ info }) => qemuPidOf(platform, info.id)));
  const before = await Promise.all(pids.map(cpuTicks));
  await sleep(idleS * 1_000);
  const after = await Promise.all(pids.map(cpuTicks));
  for (const [index, ticks] of after.entries()) {
    const usedS = (ticks - (before[index] ?? 0)) / TICKS_PER_S;
    cpu.add((usedS / idleS) * 100);
  }
  for (const pid of pids) memory.add(await pssMib(pid));
  for (const _ of range(wanted - pids.length)) memory.fail(`only ${pids.length} of ${wanted} VMs ran`);
  return [memory.measure, cpu.measure];
}

/** What the process takes, pages that it shares in parts. */
export async function pssMib(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]) / 1_024;
}

/** Asks the API for one sandbox over and over while a command runs in each. */
async function exercise(platform: Platform, fleet: readonly Sandbox[], all: number): Promise<Measure[]> {
  const answered = new Series({
    what: `\`true\` in each of ${all} running sandboxes, ${AT_ONCE} at a time`,
    unit: "ms",
    bar: "none fails",
  });
  const probed = new Series({ what: "… `GET /v1/sandboxes/{id}` meanwhile", unit: "ms", bar: "p99 ≤ 100" });
  for (const _ of range(all - fleet.length)) answered.fail(`only ${fleet.length} of ${all} sandboxes ran`);
  const stop = new AbortController();
  const probe = (async () => {
    for (let turn = 0; !stop.signal.aborted; turn += 1) {
      const id = fleet[turn % fleet.length]?.info.id ?? "";
      await probed.time(() => platform.client.sandboxes.get(id));
      await sleep(PROBE_PAUSE_MS);
    }
  })();
  for (const _ of range(2))
    await inParallel(fleet, AT_ONCE, async (sandbox) => {
      await answered.time(() => expectSuccess(sandbox));
    });
  stop.abort();
  await probe;
  return [answered.measure, probed.measure];
}
