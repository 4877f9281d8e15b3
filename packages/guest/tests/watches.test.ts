import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import type { Operation } from "./support/agent-link.ts";
import { type Build, buildSanitized, type RunningAgent, startAgent } from "./support/sanitized.ts";

const BUILD_MS = 120_000;
let build: Build;
let agent: RunningAgent;
let folder: string;
beforeAll(async () => void (build = await buildSanitized()), BUILD_MS);
afterAll(async () => await build[Symbol.asyncDispose]());
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "skerry-guest-watches-"));
  agent = await startAgent(build);
});
afterEach(async () => {
  expect(await agent.stop()).toBe("");
  rmSync(folder, { recursive: true, force: true });
});

const inside = (name: string): string => path.join(folder, name);

const lines = (operation: Operation): string[] =>
  operation.stdout
    .toString()
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const { event, name, type } = JSON.parse(line) as Record<string, string>;
      return [event, name, type === "directory" ? "/" : ""].join(" ").trimEnd();
    });

async function watch(at: string, recursive = false): Promise<Operation> {
  const operation = agent.link.open({ op: "watch", path: at, recursive });
  await operation.until(() => lines(operation).includes("start  /"));
  return operation;
}

test("a watch tells what is made, written, changed, renamed and removed", async () => {
  const watching = await watch(folder);
  writeFileSync(inside("a"), "x");
  appendFileSync(inside("a"), "y");
  chmodSync(inside("a"), 0o600);
  renameSync(inside("a"), inside("b"));
  rmSync(inside("b"));
  await watching.until(() => lines(watching).includes("remove b"));
  expect([...new Set(lines(watching))]).toEqual([
    "start  /",
    "create a",
    "write a",
    "chmod a",
    "rename a",
    "create b",
    "remove b",
  ]);
});

test("a recursive watch sees folders that come, with what is in them already, and forgets those that go", async () => {
  mkdirSync(inside("old/deep"), { recursive: true });
  symlinkSync(folder, inside("old/loop"));
  const watching = await watch(folder, true);
  writeFileSync(inside("old/deep/x"), "");
  mkdirSync(inside("new/a/b"), { recursive: true });
  writeFileSync(inside("new/a/b/y"), "");
  await watching.until(() => lines(watching).includes("create new/a/b/y"));
  expect(lines(watching)).toEqual(
    expect.arrayContaining(["create old/deep/x", "create new /", "create new/a/b /"]),
  );
  renameSync(inside("new/a"), inside("moved"));
  writeFileSync(inside("moved/b/z"), "");
  await watching.until(() => lines(watching).includes("create moved/b/z"));
  rmSync(inside("old"), { recursive: true });
  await watching.until(() => lines(watching).includes("remove old /"));
  expect(lines(watching).filter((line) => line.startsWith("create new/a/b/z"))).toEqual([]);
  expect(lines(watching).join("\n")).not.toContain("loop/");
});

test("a watch ends when its folder goes, and when it is canceled", async () => {
  mkdirSync(inside("going"));
  const watching = await watch(inside("going"), true);
  rmSync(inside("going"), { recursive: true });
  expect((await watching.ended).result).toEqual({ reason: "removed" });
  const other = await watch(folder);
  other.cancel();
  expect((await other.ended).result).toMatchObject({ code: "canceled" });
});

test("events that no one takes are dropped by the kernel, and that is an event", async () => {
  const watching = agent.link.open({ op: "watch", path: folder, recursive: false }, { grants: false });
  await watching.until(() => lines(watching).length > 0);
  const names = ["a".repeat(200), "b".repeat(200)];
  // Its queue holds 16,384 events; beside them are those in the pipe and in the window.
  for (let i = 0; i < 40_000; i += 1) {
    chmodSync(folder, 0o700 + (i % 2));
    writeFileSync(inside(names[i % 2] ?? ""), "");
  }
  const taken = lines(watching).length;
  expect(taken).toBeLessThan(40_000);
  for (let grant = 0; grant < 400; grant += 1) watching.grant(32 * 1024);
  await watching.until(() => lines(watching).some((line) => line.startsWith("overflow")));
  watching.cancel();
  await watching.ended;
});

test("what is no folder, or not there, cannot be watched", async () => {
  writeFileSync(inside("file"), "");
  const code = async (at: string): Promise<unknown> =>
    (await agent.link.open({ op: "watch", path: at, recursive: true }).ended).result["code"];
  expect(await code(inside("file"))).toBe("not_a_directory");
  expect(await code(inside("none"))).toBe("not_found");
});
