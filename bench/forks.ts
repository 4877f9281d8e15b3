// Many sandboxes from one that runs: in turns with a snapshot, and with as many restores of the same files by the bare script.

import { cp, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { qemuPidOf, type Platform } from "../tests/support/platform.ts";
import { create, expectSuccess, type Bench } from "./bench.ts";
import { pssMib } from "./fleet.ts";
import type { Floor, FloorVm } from "./floor.ts";
import { leftBehind } from "./left-behind.ts";
import type { Measure } from "./results.ts";
import { attempt, range, Series } from "./series.ts";

const FEW = 10;
const MANY = 100;
const CHANGED_MIB = 2;
const SETTLE_MS = 3_000;
/** Beside the snapshot: starting so many may take a bit longer than the bare script takes. */
const FACTOR = 1.3;

export async function measureForks(bench: Bench): Promise<Measure[]> {
  const platform = await bench.cold();
  const floor = await bench.floor();
  await floor.prepare(FEW);
  const of = { template: "base", timeout: "2h" } as const;
  const source = await platform.client.sandboxes.create({ ...of, mode: "persistent" });
  const saved = await mkdtemp("/tmp/skerry-bench-forks-");
  try {
    await source.execute(`head -c ${CHANGED_MIB}M /dev/urandom > /dev/shm/changed`);
    await source.pause();
    const folder = join(platform.state, "host/vms", source.id);
    for (const name of ["memory", "state", "disk.qcow2"]) await cp(join(folder, name), join(saved, name));
    await expectSuccess(source);
    const few = await measureFew(bench, source, { floor, saved });
    const weight = await measureWeight(platform, source);
    return [...few, ...weight, ...(await measureMany(platform, source))];
  } finally {
    await rm(saved, { recursive: true, force: true });
  }
}

async function measureFew(
  bench: Bench,
  source: Sandbox,
  { floor, saved }: { readonly floor: Floor; readonly saved: string },
): Promise<Measure[]> {
  const platform = await bench.cold();
  const series = (what: string, bar = "–"): Series => new Series({ what, unit: "ms", bar });
  const taken = series("snapshot of a running sandbox");
  const bare = series(`bare script: ${FEW} restores of the same files at once, \`true\` answered by all`);
  const allowed = series(`a snapshot and ${FACTOR} × the bare script, in the same turn`);
  const forked = series(`fork into ${FEW}, \`true\` answered by all`, `median ≤ 1 × ${allowed.measure.what}`);
  for (const _ of range(bench.scale.forkRounds)) {
    await attempt([forked], () => forked.time(() => forkAll(source, FEW)).then(destroyAll));
    await sleep(SETTLE_MS);
    await attempt([taken, bare, allowed], async () => {
      const { snapshots } = platform.client;
      const snapshot = await taken.time(() => source.snapshot());
      if (snapshot !== undefined) await snapshots.delete(snapshot.id);
      await bare.time(() => restoreAll(floor, saved));
      allowed.add((taken.samples.at(-1) ?? NaN) + FACTOR * (bare.samples.at(-1) ?? NaN));
    });
  }
  return [taken, bare, allowed, forked].map(({ measure }) => measure);
}

/** Of memory, beside clones of the template that idle as they do. */
async function measureWeight(platform: Platform, source: Sandbox): Promise<Measure[]> {
  const weight = (what: string, bar: string): Series => new Series({ what, unit: "MiB", bar });
  const clone = weight(`memory (PSS) of an idle clone, ${FEW} of them and ${FEW} forks`, "–");
  const fork = weight("… of an idle fork", `mean ≤ 1.1 × ${clone.measure.what}`);
  const forks = await forkAll(source, FEW);
  const clones = await Promise.all(range(FEW).map(() => create(platform)));
  try {
    await Promise.all(clones.map(expectSuccess));
    await sleep(SETTLE_MS);
    for (const [series, sandboxes] of [
      [clone, clones],
      [fork, forks],
    ] as const)
      for (const { id } of sandboxes) series.add(await pssMib(await qemuPidOf(platform, id)));
  } finally {
    await destroyAll([...forks, ...clones]);
  }
  return [clone.measure, fork.measure];
}

async function measureMany(platform: Platform, source: Sandbox): Promise<Measure[]> {
  const forked = new Series({
    what: `fork into ${MANY}, \`true\` answered by all`,
    unit: "ms",
    bar: "none fails",
  });
  const left = new Series({
    what: "… processes, namespaces, overlays and rows left when all and their source are destroyed",
    unit: "count",
    bar: "≤ 0",
  });
  const forks = await forked.time(() => forkAll(source, MANY));
  await destroyAll(forks);
  await source.destroy();
  left.add(await leftBehind(platform));
  return [forked.measure, left.measure];
}

async function forkAll(source: Sandbox, count: number): Promise<Sandbox[]> {
  const forks = await source.fork(count);
  await Promise.all(forks.map(expectSuccess));
  return forks;
}

async function destroyAll(sandboxes: readonly Sandbox[] | undefined): Promise<void> {
  await Promise.all((sandboxes ?? []).map((sandbox) => sandbox.destroy()));
}

async function restoreAll(floor: Floor, saved: string): Promise<void> {
  const vms: FloorVm[] = [];
  try {
    await Promise.all(
      range(FEW).map(async () => {
        const vm = await floor.restore(saved);
        vms.push(vm);
        await vm.channel.execute("true");
      }),
    );
  } finally {
    await Promise.all(vms.map((vm) => vm.end()));
  }
}
