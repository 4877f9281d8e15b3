// A guest that is kept in files: how long it stands still for a snapshot, what a pause takes, and how soon it works again, in turns with a
// bare script that restores the same files.

import { cp, mkdtemp, open, readFile, rm, stat } from "node:fs/promises";
import { request } from "node:http";
import { dirname, join } from "node:path";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Vm } from "@skerry/contract/host-api/vm";
import { newId } from "@skerry/contract/ids";
import { parseTiming, SERVER_TIMING } from "@skerry/contract/server-timing";
import type { VmRecord } from "../packages/host/src/vm/record/record.ts";
import type { Platform } from "../tests/support/platform.ts";
import { expectSuccess, type Bench } from "./bench.ts";
import type { Measure, Unit } from "./results.ts";
import { attempt, range, Series } from "./series.ts";

const MIB = 1024 * 1024;
const PAGE_BYTES = 4096;
/** In which the host makes the next network slot, as between two requests. */
const PAUSE_MS = 400;

export async function measureSaved(bench: Bench): Promise<Measure[]> {
  const small = await measureChanged(bench, 2, { still: "median ≤ 25", paused: "–", written: () => "–" });
  const large = await measureChanged(bench, 32, {
    still: "median ≤ 60",
    paused: "median ≤ 300",
    written: (changed) => `median ≤ 1.1 × ${changed}`,
  });
  return [...small, ...large];
}

interface Bars {
  readonly still: string;
  readonly paused: string;
  readonly written: (changed: string) => string;
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
  const changed = series("a paused guest's memory that differs from its template's", "MiB", "–");
  const written = series("written by a pause", "MiB", bars.written(changed.measure.what));
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
      const { below } = JSON.parse(await readFile(join(folder, "vm.json"), "utf8")) as VmRecord;
      changed.add((await changedBytes(kept, join(dirname(below?.frozen_disk ?? ""), "memory"))) / MIB);
      written.add(((await stat(join(kept, "memory"))).size + (await stat(join(kept, "state"))).size) / MIB);
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
    return [still, paused, resumed, bare, changed, written].map(({ measure }) => measure);
  } finally {
    await rm(kept, { recursive: true, force: true });
    await sandbox.destroy();
  }
}

/** Pages of the saved guest in the folder that are not as in the memory that it was started from. The form is native/memory-pages.h. */
async function changedBytes(folder: string, template: string): Promise<number> {
  const pages = await readFile(join(folder, "memory"));
  await using base = await open(template, "r");
  let differ = 0;
  for (const run of range(Number(pages.readBigUInt64LE(16)))) {
    const [memoryAt = 0, bytes = 0, at = 0] = [0, 8, 16].map((field) =>
      Number(pages.readBigUInt64LE(24 + 24 * run + field)),
    );
    const before = Buffer.alloc(bytes);
    await base.read(before, 0, bytes, memoryAt);
    for (let page = 0; page < bytes; page += PAGE_BYTES) {
      const now = pages.subarray(at + page, at + page + PAGE_BYTES);
      if (!now.equals(before.subarray(page, page + PAGE_BYTES))) differ += PAGE_BYTES;
    }
  }
  return differ;
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
