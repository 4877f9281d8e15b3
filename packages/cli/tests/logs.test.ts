import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readLayout, type Layout } from "../src/local/system/layout.ts";
import { openLog, rotateLogs } from "../src/local/servers/logs.ts";

let layout: Layout;
beforeEach(async () => {
  const state = await mkdtemp(join(tmpdir(), "skerry-logs-"));
  layout = { ...readLayout("/dist", {}), logs: state };
});
afterEach(() => rm(layout.logs, { recursive: true, force: true }));

const bounds = { maxBytes: 1_000, kept: 3 };

test("a log is bounded on disk: it is cut when it is large, and only the newest pieces are kept", async () => {
  await using log = await openLog(layout, "control");
  for (let round = 1; round <= 6; round += 1) {
    await log.write(`${String(round).repeat(1_000)}\n`);
    await rotateLogs(layout, bounds);
  }
  expect((await readdir(layout.logs)).toSorted()).toEqual([
    "control.log",
    "control.log.1",
    "control.log.2",
    "control.log.3",
  ]);
  const firstOf = async (name: string) => (await readFile(join(layout.logs, name), "utf8")).slice(0, 1);
  expect(await firstOf("control.log")).toBe("");
  expect(await Promise.all([1, 2, 3].map((number) => firstOf(`control.log.${number}`)))).toEqual([
    "6",
    "5",
    "4",
  ]);
});

test("a writer goes on in the file that it has open, and a small log is left alone", async () => {
  await using log = await openLog(layout, "host");
  await log.write("x".repeat(1_000));
  await rotateLogs(layout, bounds);
  await log.write("after\n");
  await rotateLogs(layout, bounds);
  expect(await readFile(join(layout.logs, "host.log"), "utf8")).toBe("after\n");
  expect((await readdir(layout.logs)).toSorted()).toEqual(["host.log", "host.log.1"]);
});

test("a link in the place of a log is not followed", async () => {
  const victim = join(layout.logs, "victim");
  await writeFile(victim, "y".repeat(2_000));
  await symlink(victim, join(layout.logs, "postgres.log"));
  await rotateLogs(layout, bounds);
  expect((await readFile(victim, "utf8")).length).toBe(2_000);
  await expect(openLog(layout, "postgres")).rejects.toThrow("ELOOP");
});
