// A command in a sandbox that runs, over HTTP, in turns with a command in a container that runs.

import { create, expectSuccess, type Bench } from "./bench.ts";
import type { Measure } from "./results.ts";
import { range, Series } from "./series.ts";

const PODMAN_EXEC = "`podman exec … true`";
/** Ours is so much shorter that more of it costs nothing. */
const OURS_PER_ROUND = 8;
const WARM_UP = 20;

export async function measureExecute(bench: Bench): Promise<Measure[]> {
  const podman = await bench.podman();
  const sandbox = await create(bench.platform);
  const ours = new Series({
    what: "`execute` of `true` in a running sandbox, over HTTP",
    unit: "ms",
    bar: `median ≤ 10, median ≤ 0.1 × ${PODMAN_EXEC}`,
  });
  const podmanExec = new Series({ what: PODMAN_EXEC, unit: "ms", bar: "–" });
  try {
    for (const _ of range(WARM_UP)) await expectSuccess(sandbox);
    if (typeof podman !== "string") await podman.exec();
    for (const _ of range(bench.scale.executeRounds)) {
      for (const _turn of range(OURS_PER_ROUND)) await ours.time(() => expectSuccess(sandbox));
      if (typeof podman !== "string") await podmanExec.time(() => podman.exec());
    }
  } finally {
    await sandbox.destroy();
  }
  const skipped = typeof podman === "string" ? { skipped: podman } : {};
  return [ours.measure, { ...podmanExec.measure, ...skipped }];
}
