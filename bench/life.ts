// From the request to the first command's answer and to the end: with clones that wait, without, and what podman and QEMU alone need.

import { setTimeout as sleep } from "node:timers/promises";
import type { Platform } from "../tests/support/platform.ts";
import { create, expectSuccess, type Bench } from "./bench.ts";
import { poolAtRest } from "./pool.ts";
import type { Floor } from "./floor.ts";
import type { Measure } from "./results.ts";
import { attempt, range, Series } from "./series.ts";

const PODMAN_RUN = "`podman run --rm … true`";
const FLOOR = "bare script: restore → first `true` answered";
/** In which the host makes the next network slot, as between two requests. */
const PAUSE_MS = 400;

export async function measureLife(bench: Bench): Promise<Measure[]> {
  const { platform, scale } = bench;
  const podman = await bench.podman();
  const floor = await bench.floor();
  await floor.prepare(1);
  const life = lifeSeries("pool warm", {
    created: "median ≤ 15",
    answered: "median ≤ 40, p99 ≤ 120",
    whole: `median ≤ 0.5 × ${PODMAN_RUN}`,
  });
  const podmanRun = new Series({ what: PODMAN_RUN, unit: "ms", bar: "–" });
  const restored = new Series({ what: FLOOR, unit: "ms", bar: "–" });
  for (const _ of range(scale.lifeRounds)) {
    await attempt(Object.values(life), async () => {
      await poolAtRest(platform);
      await liveOnce(platform, life);
    });
    await poolAtRest(platform).catch(() => undefined); // the next round tells
    if (typeof podman !== "string") await podmanRun.time(() => podman.run());
    await attempt([restored], () => restoreOnce(floor, restored));
  }
  const skipped = typeof podman === "string" ? { skipped: podman } : {};
  return [
    ...Object.values(life).map(({ measure }) => measure),
    { ...podmanRun.measure, ...skipped },
    restored.measure,
  ];
}

export async function measureCold(bench: Bench): Promise<Measure[]> {
  const platform = await bench.cold();
  const floor = await bench.floor();
  await floor.prepare(1);
  const life = lifeSeries("no clone waits", {
    created: "–",
    answered: `median ≤ 1.3 × ${FLOOR}`,
    whole: "–",
  });
  const restored = new Series({ what: FLOOR, unit: "ms", bar: "–" });
  for (const _ of range(bench.scale.coldRounds)) {
    await sleep(PAUSE_MS);
    await attempt(Object.values(life), () => liveOnce(platform, life));
    await sleep(PAUSE_MS);
    await attempt([restored], () => restoreOnce(floor, restored));
  }
  return [...Object.values(life).map(({ measure }) => measure), restored.measure];
}

interface Life {
  readonly created: Series;
  readonly answered: Series;
  readonly destroyed: Series;
  readonly whole: Series;
}

function lifeSeries(pool: string, bars: { created: string; answered: string; whole: string }): Life {
  const series = (what: string, bar: string): Series =>
    new Series({ what: `${what}, ${pool}`, unit: "ms", bar });
  return {
    created: series("create answered", bars.created),
    answered: series("create → first `execute` of `true` answered", bars.answered),
    destroyed: series("destroy", "–"),
    whole: series("create → execute → destroy", bars.whole),
  };
}

async function liveOnce(platform: Platform, { created, answered, destroyed, whole }: Life): Promise<void> {
  const startedMs = performance.now();
  const since = (): number => performance.now() - startedMs;
  const sandbox = await create(platform);
  created.add(since());
  try {
    await expectSuccess(sandbox);
    answered.add(since());
  } finally {
    await destroyed.time(() => sandbox.destroy());
  }
  whole.add(since());
}

async function restoreOnce(floor: Floor, restored: Series): Promise<void> {
  const startedMs = performance.now();
  const vm = await floor.restore();
  try {
    await vm.channel.execute("true");
    restored.add(performance.now() - startedMs);
  } finally {
    await vm.end();
  }
}
