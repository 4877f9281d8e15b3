// A guest that is kept in files: how long it stands still for a snapshot, what a pause takes, and how soon it works again, in turns with a
// bare script that restores the same files.

import { cp, mkdtemp, rm, stat } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Vm } from "@skerry/contract/host-api/vm";
import { newId } from "@skerry/contract/ids";
import { parseTiming, SERVER_TIMING } from "@skerry/contract/server-timing";
import type { Platform } from "../tests/support/platform.ts";
import { expectSuccess, type Bench } from "./bench.ts";
import type { Measure, Unit } from "./report.ts";
import { attempt, range, Series } from "./series.ts";

const MIB = 1024 * 1024;
/** In which the host makes the next network slot, as between two requests. */
const PAUSE_MS = 400;

export async function measureSaved(bench: Bench): Promise<Measure[]> {
  const small = await measureChanged(bench, 2, { still: "median ≤ 25", paused: "–" });
  const large = await measureChanged(bench, 32, {
    still: "median ≤ 60",
    paused: "median ≤ 300",
  });
  return [...small, ...large];
}

interface Bars {
  readonly still: string;
  readonly paused: string;
}

async function measureChanged(bench: Bench, mib: number, bars: Bars): Promise<Measure[]> {
  const platform = await bench.cold();
  const floor = await bench.floor();
  await floor.prepare(1);
  const series = (what: string, unit: Unit, bar: string): Series =>
    new Series({ what: `${what}, ${mib} MiB changed`, unit, bar });
  const still = series("snapshot: the guest stands still", "ms", bars.still);
  const paused = series("pause", "ms", bars.paused);
  const bare = series("bare script: restore of the same files → first `true` answered", "ms", "–");
  const resumed = series("`true` in a paused sandbox answered", "ms", `median ≤ 1.2 × ${bare.measure.what}`);
  const sandbox = await platform.client.sandboxes.create({
    template: "base",
    mode: "persistent",
    timeout: "1h",
  });
  const kept = await mkdtemp("/tmp/skerry-bench-saved-");
  try {
    await sandbox.execute(`head -c ${mib}M /dev/urandom > /dev/shm/changed`);
    for (const _ of range(bench.scale.coldRounds)) {
      await attempt([still], async () => still.add(await stoodStill(platform, sandbox.id)));
      await attempt([paused], () => paused.time(async () => void (await sandbox.pause())));
      const folder = join(platform.state, "host/vms", sandbox.id);
      for (const name of ["memory", "state", "disk.qcow2"]) await cp(join(folder, name), join(kept, name));
      await sleep(PAUSE_MS);
      await attempt([resumed], () => resumed.time(() => expectSuccess(sandbox)));
      await sleep(PAUSE_MS);
      await attempt([bare], () =>
        bare.time(async () => {
          const vm = await floor.restore(kept);
          await vm.channel.execute("true").finally(() => vm.end());
        }),
      );
    }
    const written = series("written by a pause beyond what the guest was told to change", "MiB", "–");
    written.add((await stat(join(kept, "memory"))).size / MIB - mib);
    return [still, paused, resumed, bare, written].map(({ measure }) => measure);
  } finally {
    await rm(kept, { recursive: true, force: true });
    await sandbox.destroy();
  }
}

/** Asked of the host, which tells it. */
async function stoodStill({ state }: Platform, id: string): Promise<number> {
  const vm = await ofHost<Vm>(state, "GET", `/vms/${id}`);
  const snapshot_id = newId("snapshot");
  const taken = await ofHost(state, "POST", `/vms/${id}/snapshots`, {
    execution_id: vm.body.execution_id,
    snapshot_id,
  });
  await ofHost(state, "DELETE", `/snapshots/${snapshot_id}`);
  const { still } = parseTiming(taken.timing);
  if (still === undefined) throw new Error(`no snapshot was taken: ${JSON.stringify(taken.body)}`);
  return still;
}

function ofHost<T>(
  state: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ readonly body: T; readonly timing: string | undefined }> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const call = request({ socketPath: join(state, "run/host.sock"), method, path, headers }, (answer) => {
      const timing = answer.headers[SERVER_TIMING];
      const isJson = answer.headers["content-type"]?.startsWith("application/json") === true;
      if (!isJson) answer.resume();
      (isJson ? json(answer) : Promise.resolve(undefined)).then(
        (content) => resolve({ body: content as T, timing: typeof timing === "string" ? timing : undefined }),
        reject,
      );
    });
    call.once("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
