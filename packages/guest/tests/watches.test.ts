import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";

import { expect, test } from "vitest";

import type { Operation } from "./support/agent-link.ts";
import { useAgentInFolder } from "./support/agent-in-folder.ts";

const world = useAgentInFolder("watches");

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
  const operation = world.agent.link.open({ op: "watch", path: at, recursive });
  await operation.until(() => lines(operation).includes("start  /"));
  return operation;
}

test("a watch tells what is made, written, changed, renamed and removed", async () => {
  const watching = await watch(world.folder);
  writeFileSync(world.inside("a"), "x");
  appendFileSync(world.inside("a"), "y");
  chmodSync(world.inside("a"), 0o600);
  renameSync(world.inside("a"), world.inside("b"));
  rmSync(world.inside("b"));
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
  mkdirSync(world.inside("old/deep"), { recursive: true });
  symlinkSync(world.folder, world.inside("old/loop"));
  const watching = await watch(world.folder, true);
  writeFileSync(world.inside("old/deep/x"), "");
  mkdirSync(world.inside("new/a/b"), { recursive: true });
  writeFileSync(world.inside("new/a/b/y"), "");
  await watching.until(() => lines(watching).includes("create new/a/b/y"));
  expect(lines(watching)).toEqual(
    expect.arrayContaining(["create old/deep/x", "create new /", "create new/a/b /"]),
  );
  renameSync(world.inside("new/a"), world.inside("moved"));
  writeFileSync(world.inside("moved/b/z"), "");
  await watching.until(() => lines(watching).includes("create moved/b/z"));
  rmSync(world.inside("old"), { recursive: true });
  await watching.until(() => lines(watching).includes("remove old /"));
  expect(lines(watching).filter((line) => line.startsWith("create new/a/b/z"))).toEqual([]);
  expect(lines(watching).join("\n")).not.toContain("loop/");
});

test("a watch ends when its folder goes, and when it is canceled", async () => {
  mkdirSync(world.inside("going"));
  const watching = await watch(world.inside("going"), true);
  rmSync(world.inside("going"), { recursive: true });
  expect((await watching.ended).result).toEqual({ reason: "removed" });
  const other = await watch(world.folder);
  other.cancel();
  expect((await other.ended).result).toMatchObject({ code: "canceled" });
});

test("events that no one takes are dropped by the kernel, and that is an event", async () => {
  const watching = world.agent.link.open(
    { op: "watch", path: world.folder, recursive: false },
    { grants: false },
  );
  await watching.until(() => lines(watching).length > 0);
  const names = ["a".repeat(200), "b".repeat(200)];
  // Its queue holds 16,384 events; beside them are those in the pipe and in the window.
  for (let i = 0; i < 40_000; i += 1) {
    chmodSync(world.folder, 0o700 + (i % 2));
    writeFileSync(world.inside(names[i % 2] ?? ""), "");
  }
  const taken = lines(watching).length;
  expect(taken).toBeLessThan(40_000);
  for (let grant = 0; grant < 400; grant += 1) watching.grant(32 * 1024);
  await watching.until(() => lines(watching).some((line) => line.startsWith("overflow")));
  watching.cancel();
  await watching.ended;
});

test("what is no folder, or not there, cannot be watched", async () => {
  writeFileSync(world.inside("file"), "");
  const code = async (at: string): Promise<unknown> =>
    (await world.agent.link.open({ op: "watch", path: at, recursive: true }).ended).result["code"];
  expect(await code(world.inside("file"))).toBe("not_a_directory");
  expect(await code(world.inside("none"))).toBe("not_found");
});

/** `d/d/d/…` below the world's folder, in hundreds of levels: its path may be longer than the kernel takes in one piece. */
function makeDeep(hundreds: number): void {
  const script = 'i=0; while [ $i -lt "$1" ]; do mkdir -p "$2" && cd -P "$2" || exit 1; i=$((i + 1)); done';
  execFileSync("sh", ["-c", script, "sh", String(hundreds), "d/".repeat(100)], { cwd: world.folder });
}

test("a tree of a thousand levels is watched down to the last one", async () => {
  makeDeep(10);
  const watching = await watch(world.folder, true);
  const deepest = "d/".repeat(1_000);
  writeFileSync(world.inside(`${deepest}x`), "");
  await watching.until(() => lines(watching).includes(`create ${deepest}x`));
});

test("a tree with paths that are too long is refused, and the agent goes on", async () => {
  makeDeep(21);
  const refused = world.agent.link.open({ op: "watch", path: world.folder, recursive: true });
  expect((await refused.ended).result).toMatchObject({ code: "too_many_watches" });
  await watch(world.folder);
});
