import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
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
  expect(await sweepFrozen(folder, new Set(["base-current"]), AN_HOUR_MS)).toBe(0);
  expect((await readdir(folder)).toSorted()).toEqual(["base-current", "base-unknown"]);
  expect(await sweepFrozen(folder, new Set(["base-current"]), 0)).toBe(1);
  expect(await readdir(folder)).toEqual(["base-current"]);
});

test("a file that is gone already is not counted", async () => {
  await writeFile(join(folder, "there"), "x");
  expect(await removeUntouched([join(folder, "there"), join(folder, "gone")], 0)).toBe(1);
});
