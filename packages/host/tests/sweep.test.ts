import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sweepUnusedFiles } from "../src/unused-files.ts";
import type { Host } from "../src/host.ts";
import { Layers } from "../src/vm/disk/layers.ts";
import { removeUnusedTemplates, removeUntouched } from "../src/templates/unused-templates.ts";

const AN_HOUR_MS = 3_600_000;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-sweep-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("while the host is at work a template that nothing needs goes only when it is old: a young one may be in the making", async () => {
  const folders = { images: join(folder, "images"), frozen: join(folder, "frozen") };
  const names = ["base-current", "base-below", "base-unknown"];
  await mkdir(folders.images);
  for (const name of names) {
    await writeFile(join(folders.images, `${name}.ext4`), "x");
    await mkdir(join(folders.frozen, name), { recursive: true });
    await writeFile(join(folders.frozen, name, "memory"), "x");
  }
  const used = {
    images: [join(folders.images, "base-current.ext4")],
    frozen: ["base-current"],
    below: new Set([
      join(folders.images, "base-below.ext4"),
      join(folders.frozen, "base-below", "disk.qcow2"),
    ]),
  };
  expect(await removeUnusedTemplates(folders, used, Date.now() - AN_HOUR_MS)).toBe(0);
  expect((await readdir(folders.frozen)).toSorted()).toEqual(names.toSorted());
  expect(await removeUnusedTemplates(folders, used, Infinity)).toBe(2);
  expect((await readdir(folders.frozen)).toSorted()).toEqual(["base-below", "base-current"]);
  expect((await readdir(folders.images)).toSorted()).toEqual(["base-below.ext4", "base-current.ext4"]);
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
      allBackingFiles: async () => {
        await writeFile(join(folder, "arriving.layer"), "x");
        await sleep(100);
        return new Set<string>();
      },
    },
    library: { sweepOwn: async () => 0 },
    moves: { sweep: (below: ReadonlySet<string>, beforeMs: number) => layers.sweep(below, beforeMs) },
  };
  expect(await sweepUnusedFiles(host as unknown as Host, startedMs)).toBe(1);
  expect(await readdir(folder)).toEqual(["arriving.layer"]);
});
