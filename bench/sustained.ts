// Creates and destroys without a pause, for minutes: does anything grow?

import { setTimeout as sleep } from "node:timers/promises";
import type { Platform } from "../tests/support/platform.ts";
import { create, expectSuccess, type Bench } from "./bench.ts";
import { leftBehind } from "./left-behind.ts";
import { residentMb, services } from "./memory.ts";
import type { Measure } from "./results.ts";
import { attempt, range, Series } from "./series.ts";
import { statistics } from "./statistics.ts";

const WORKERS = 2;
/** Before it is measured: by then the clones that waited are used up, which would make the beginning look faster than all that follows. */
const LEAD_IN_MS = 5_000;
const MEMORY_EVERY_MS = 1_000;
const AXIS = "seconds since the beginning";
/** The beginning and the end that are compared. */
const SHARE = 0.2;

export async function measureSustained({ platform, scale }: Bench): Promise<Measure[]> {
  const created = new Series({ what: "create, sustained", unit: "ms", bar: "none fails", axis: AXIS });
  const lives = new Series({
    what: "create → execute → destroy, sustained",
    unit: "ms",
    bar: "none fails",
    axis: AXIS,
  });
  const memory = services.map((service) => ({
    service,
    series: new Series({
      what: `resident memory of ${service}, sustained`,
      unit: "MB",
      bar: "–",
      axis: AXIS,
    }),
  }));
  await Promise.all(leadIn(platform));
  const startedMs = performance.now();
  const endMs = startedMs + scale.sustainedS * 1_000;
  const seconds = (): number => (performance.now() - startedMs) / 1_000;
  const workers = range(WORKERS).map(async () => {
    while (performance.now() < endMs)
      await attempt([created, lives], () => liveOnce(platform, { created, lives, seconds }));
  });
  const watch = (async () => {
    while (performance.now() < endMs) {
      for (const { service, series } of memory) series.add(await residentMb(platform, service), seconds());
      await sleep(MEMORY_EVERY_MS);
    }
  })();
  await Promise.all([...workers, watch]);
  const perSecond = lives.count / seconds();
  return [
    created.measure,
    lives.measure,
    { what: "create → execute → destroy per second", unit: "/s", samples: [perSecond], bar: "–" },
    flat("create, last fifth of the time ÷ first", created, 1.2),
    ...memory.flatMap(({ service, series }) => [
      series.measure,
      flat(`memory of ${service}, last fifth of the time ÷ first`, series, 1.1),
    ]),
    {
      what: "processes, namespaces, overlays and rows left",
      unit: "count",
      samples: [await leftBehind(platform)],
      bar: "≤ 0",
    },
  ];
}

function leadIn(platform: Platform): Promise<void>[] {
  const endMs = performance.now() + LEAD_IN_MS;
  return range(WORKERS).map(async () => {
    while (performance.now() < endMs) {
      const sandbox = await create(platform);
      await sandbox.destroy();
    }
  });
}

async function liveOnce(
  platform: Platform,
  { created, lives, seconds }: { created: Series; lives: Series; seconds: () => number },
): Promise<void> {
  const startedMs = performance.now();
  const startedS = seconds();
  const sandbox = await create(platform);
  created.add(performance.now() - startedMs, startedS);
  try {
    await expectSuccess(sandbox);
  } finally {
    await sandbox.destroy();
  }
  lives.add(performance.now() - startedMs, startedS);
}

/** Samples come in the order of time. */
function flat(what: string, { samples }: Series, most: number): Measure {
  const length = Math.max(1, Math.floor(samples.length * SHARE));
  const ratio = statistics.median(samples.slice(-length)) / statistics.median(samples.slice(0, length));
  return { what, unit: "×", samples: [ratio], bar: `≤ ${most}` };
}
