// Many at once: creates through the API, in turns with as many restores by the bare script.

import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { create, expectSuccess, type Bench } from "./bench.ts";
import { poolAtRest } from "./pool.ts";
import type { Floor, FloorVm } from "./floor.ts";
import { leftBehind } from "./left-behind.ts";
import type { Measure } from "./results.ts";
import { range, Series } from "./series.ts";

export async function measureBurst(bench: Bench): Promise<Measure[]> {
  const { platform, scale } = bench;
  const { vms, repeats } = scale.burst;
  const floorWhat = `bare script: ${vms} restores at once, until all agents have answered`;
  const series = {
    each: new Series({ what: `create, ${vms} at once`, unit: "ms", bar: "max ≤ 2 × its median" }),
    all: new Series({
      what: `${vms} creates at once, until all are answered`,
      unit: "ms",
      bar: `median ≤ 1.3 × ${floorWhat}`,
    }),
    answered: new Series({ what: "… then `true` in each, all at once", unit: "ms", bar: "none fails" }),
    destroyed: new Series({ what: "… then all destroyed at once", unit: "ms", bar: "none fails" }),
    left: new Series({ what: "… processes, namespaces, overlays and rows left", unit: "count", bar: "≤ 0" }),
    floorEach: new Series({ what: `bare script: restore, ${vms} at once`, unit: "ms", bar: "–" }),
    floor: new Series({ what: floorWhat, unit: "ms", bar: "–" }),
  };
  const floor = await bench.floor();
  await floor.prepare(vms);
  for (const _ of range(repeats)) {
    await poolAtRest(platform);
    await burst(bench, series);
    await poolAtRest(platform);
    await restoreAll(floor, vms, series);
  }
  return Object.values(series).map(({ measure }) => measure);
}

async function burst(
  { platform, scale }: Bench,
  {
    each,
    all,
    answered,
    destroyed,
    left,
  }: { readonly [Name in "each" | "all" | "answered" | "destroyed" | "left"]: Series },
): Promise<void> {
  const sandboxes: Sandbox[] = [];
  await all.time(async () => {
    const made = await Promise.all(range(scale.burst.vms).map(() => each.time(() => create(platform))));
    for (const sandbox of made) if (sandbox !== undefined) sandboxes.push(sandbox);
    if (sandboxes.length < scale.burst.vms)
      throw new Error(`${scale.burst.vms - sandboxes.length} of ${scale.burst.vms} creates failed`);
  });
  await Promise.all(sandboxes.map((sandbox) => answered.time(() => expectSuccess(sandbox))));
  await destroyed.time(async () => {
    await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()));
  });
  left.add(await leftBehind(platform));
}

async function restoreAll(
  floor: Floor,
  vms: number,
  { floorEach, floor: all }: { readonly floorEach: Series; readonly floor: Series },
): Promise<void> {
  const restored: FloorVm[] = [];
  await all.time(async () => {
    await Promise.all(
      range(vms).map(async () => {
        const vm = await floorEach.time(() => floor.restore());
        if (vm !== undefined) restored.push(vm);
      }),
    );
    if (restored.length < vms) throw new Error(`${vms - restored.length} of ${vms} restores failed`);
  });
  await Promise.all(restored.map((vm) => vm.end()));
}
