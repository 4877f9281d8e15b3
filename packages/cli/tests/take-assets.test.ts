import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { takeAssets } from "../src/local/doctor/take-assets.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp("/tmp/skerry-assets-");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("a doctor takes the kernel, images and frozen templates, and no image that is being built", async () => {
  const assets = join(folder, "assets");
  const files = ["kernel/vmlinuz", "images/base-1.ext4", "images/base-building-x/root/proc/endless"];
  for (const file of [...files, "frozen/base-2/memory"]) {
    await mkdir(join(assets, file, ".."), { recursive: true });
    await writeFile(join(assets, file), file);
  }
  const copy = join(folder, "copy");
  await takeAssets(assets, copy);
  const taken = await readdir(copy, { recursive: true });
  const wanted = ["images", "images/base-1.ext4", "kept", "kept/base-2", "kept/base-2/memory"];
  expect(taken.toSorted()).toEqual([...wanted, "kernel", "kernel/vmlinuz"]);
  const [mine, theirs] = [join(copy, "images/base-1.ext4"), join(assets, "images/base-1.ext4")];
  expect((await stat(mine)).ino).toBe((await stat(theirs)).ino);
});

test("where there is nothing to take, a doctor takes nothing", async () => {
  const copy = join(folder, "empty");
  await takeAssets("/nowhere", copy);
  expect(await readdir(copy)).toEqual([]);
});
