import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sweepCaches } from "../src/caches.ts";
import type { Host } from "../src/host.ts";
import { Layers } from "../src/move/layers.ts";
import { removeUntouched, sweepFrozen } from "../src/templates/frozen.ts";

const AN_HOUR_MS = 3_600_000;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-sweep-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function frozen(name: string): Promise<void> {
  await mkdir(join(folder, name));
  await writeFile(join(folder, name, "memory"), "x");
}

test("while the host is at work a frozen template that nothing needs goes only when it is old: a young one may be in the making", async () => {
  await frozen("base-current");
  await frozen("base-unknown");
  expect(await sweepFrozen(folder, new Set(["base-current"]), Date.now() - AN_HOUR_MS)).toBe(0);
  expect((await readdir(folder)).toSorted()).toEqual(["base-current", "base-unknown"]);
  expect(await sweepFrozen(folder, new Set(["base-current"]), Infinity)).toBe(1);
  expect(await readdir(folder)).toEqual(["base-current"]);
});

test("a file that is gone already is not counted", async () => {
  await writeFile(join(folder, "there"), "x");
  expect(await removeUntouched([join(folder, "there"), join(folder, "gone")], Infinity)).toBe(1);
});

test("what comes while it is looked up what disks stand on stays, however long that takes", async () => {
  const layers = new Layers(folder, "data-ranges");
  await writeFile(join(folder, "old.layer"), "x");
  await sleep(50);
  const startedMs = Date.now();
  await sleep(20);
  const host = {
    config: { sharedAssets: true },
    engine: {
      filesBelow: async () => {
        await writeFile(join(folder, "arriving.layer"), "x");
        await sleep(100);
        return new Set<string>();
      },
    },
    moves: { sweep: (below: ReadonlySet<string>, beforeMs: number) => layers.sweep(below, beforeMs) },
  };
  expect(await sweepCaches(host as unknown as Host, startedMs)).toBe(1);
  expect(await readdir(folder)).toEqual(["arriving.layer"]);
});
