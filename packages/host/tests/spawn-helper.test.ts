// The process that starts programs for the host: nothing that they say is lost, and nothing of them stays.

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { useSpawnHelper, runProgram, startProgram } from "../src/system/run.ts";
import { SpawnHelper } from "../src/system/spawn-helper.ts";
import { buildNative, type Native } from "./support/native.ts";

const deadlineMs = 20_000;
const POLL_MS = 20;

let native: Native;
let helper: SpawnHelper;

beforeAll(async () => {
  native = await buildNative();
});
afterAll(() => native[Symbol.asyncDispose]());

beforeEach(async () => {
  helper = await SpawnHelper.start(native.spawnHelper);
  useSpawnHelper(helper);
});
afterEach(async () => {
  useSpawnHelper(undefined);
  if (helper.isThere) process.kill(helper.pid, "SIGKILL");
  await helper.gone;
});

/** Its parent as the kernel knows it. */
async function parentOf(pid: number): Promise<number | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  return stat === undefined ? undefined : Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

async function hasEnded(pid: number): Promise<boolean> {
  for (const end = Date.now() + deadlineMs; Date.now() < end; await sleep(POLL_MS))
    if ((await parentOf(pid)) === undefined) return true;
  return false;
}

test("programs are its children, and say all that they have to say", async () => {
  expect(Number(await runProgram("sh", ["-c", "echo $PPID"], { deadlineMs }))).toBe(helper.pid);
  const much = "åäö and more\n".repeat(100_000);
  expect(await runProgram("cat", [], { deadlineMs, input: much })).toBe(much);
  expect(await runProgram("printf", ["%s|", "", "two words", "$HOME"], { deadlineMs })).toBe(
    "|two words|$HOME|",
  );
});

test("fifty at once each get their own answer", async () => {
  const asked = Array.from({ length: 50 }, (_, index) => String(index));
  const said = await Promise.all(asked.map((input) => runProgram("cat", [], { deadlineMs, input })));
  expect(said).toEqual(asked);
});

test("a program that fails, one that is killed and one that there is not are told apart", async () => {
  const failing = runProgram("sh", ["-c", "echo out; echo err >&2; exit 3"], { deadlineMs });
  await expect(failing).rejects.toThrow(/^sh ended with 3: (out\nerr|err\nout)$/);
  await expect(runProgram("sleep", ["600"], { deadlineMs: 50 })).rejects.toThrow("sleep ended with SIGKILL");
  const missing = runProgram("/nowhere/program", [], { deadlineMs });
  await expect(missing).rejects.toThrow("/nowhere/program ended with 127: No such file or directory");
});

test("a program that waits for its input does so until it gets it or is killed", async () => {
  const first = startProgram("cat", [], { deadlineMs });
  expect(first.waits).toBe(true);
  expect(await first.finish("late")).toBe("late");
  expect(first.waits).toBe(false);
  const second = startProgram("cat", [], { deadlineMs });
  second.kill();
  await expect(second.finish("too late")).rejects.toThrow("cat ended with SIGKILL");
});

test("a program that does not read its input is no harm", async () => {
  expect(await runProgram("true", [], { deadlineMs, input: "x".repeat(1_000_000) })).toBe("");
});

test("when it dies its programs fail, those that wait end, and others start without it", async () => {
  const waiting = startProgram("sh", ["-c", "echo $$ >&2; cat"], { deadlineMs });
  const child = Number(
    await runProgram("sh", ["-c", `cat /proc/${helper.pid}/task/*/children`], { deadlineMs }).then(
      (pids) => pids.split(" ")[0],
    ),
  );
  process.kill(helper.pid, "SIGKILL");
  await expect(waiting.finish("")).rejects.toThrow("its exit was not seen");
  expect(await hasEnded(child)).toBe(true);
  expect(Number(await runProgram("sh", ["-c", "echo $PPID"], { deadlineMs }))).toBe(process.pid);
});

test("a program with more arguments than it takes is refused, and not started without them", async () => {
  const asked = runProgram("true", Array.from({ length: 600 }, String), { deadlineMs });
  await expect(asked).rejects.toThrow("true ended with 127: Argument list too long");
});

test("one that stands still is given up, and programs start without it", async () => {
  process.kill(helper.pid, "SIGSTOP");
  await expect(runProgram("true", [], { deadlineMs })).rejects.toThrow("its exit was not seen");
  expect(await runProgram("echo", ["still"], { deadlineMs })).toBe("still\n");
});

test("it ends with the process that started it", async () => {
  const script = `
    const { spawn } = require("node:child_process");
    const child = spawn(process.argv[1], [], { stdio: ["pipe", "pipe", "inherit"] });
    child.once("spawn", () => { console.log(child.pid); process.kill(process.pid, "SIGKILL"); });`;
  const said = await runProgram(
    "sh",
    ["-c", `"$0" -e "$1" "$2" || true`, process.execPath, script, native.spawnHelper],
    { deadlineMs },
  );
  expect(await hasEnded(Number(said))).toBe(true);
});
