import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { TAP } from "../src/network/guest-link.ts";
import { useSpawnHelper, RunError, runProgram } from "../src/system/run.ts";
import { SpawnHelper } from "../src/system/spawn-helper.ts";
import { findByName, isAlive, killProcess, launchQemu } from "../src/vm/qemu/process.ts";
import { buildNative, type Native } from "./support/native.ts";
import { testSlots } from "./support/network.ts";
import { tools } from "./support/tools.ts";

const UID = 1_899_999_003;
const prefix = `unit${process.pid}-process`;

let native: Native;
const children: ChildProcess[] = [];
beforeAll(async () => {
  native = await buildNative();
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(() => native[Symbol.asyncDispose]());

/** A process with these arguments that does nothing until its input ends. */
async function idle(...args: string[]): Promise<ChildProcess> {
  const child = spawn("/bin/sh", ["-c", "echo ready; read line", "sh", ...args], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  children.push(child);
  if (child.stdout !== null) await once(child.stdout, "data");
  return child;
}

/** The user of these tests. */
const ours = { first: process.getuid?.() ?? 0, count: 1 };

test("a process of another user is not taken for a QEMU of ours, whatever it calls itself", async () => {
  await idle("-name", `${prefix}:x:1`);
  expect(await findByName(`${prefix}:x`, { first: ours.first + 1, count: 4_096 })).toEqual([]);
});

test("a name that could lead out of a folder is nobody's of ours", async () => {
  await idle("-name", `${prefix}:../../etc`);
  expect(await findByName(`${prefix}:..`, ours)).toEqual([]);
});

test("a process is found by the beginning of its name, and only where that is the value of -name", async () => {
  const [one, two] = [
    await idle("-name", `${prefix}:a:1`, "-m", "256"),
    await idle("-name", `${prefix}:b:1`),
  ];
  await idle("-title", `${prefix}:c:1`);
  await idle(`${prefix}:d:1`, "-name");
  const found = await findByName(`${prefix}:`, ours);
  const byName = found.map(({ identity, name }) => `${name} ${identity.pid}`).sort();
  expect(byName).toEqual([`${prefix}:a:1 ${one.pid}`, `${prefix}:b:1 ${two.pid}`]);
  expect(await findByName(`${prefix}:b`, ours)).toHaveLength(1);
});

test("a process that has the pid but another start time is another process, and is not killed", async () => {
  const child = await idle("-name", `${prefix}:e:1`);
  const [found] = await findByName(`${prefix}:e`, ours);
  const identity = found?.identity ?? { pid: 0, startTicks: 0 };
  const earlier = { ...identity, startTicks: identity.startTicks - 1 };
  expect(await isAlive(identity)).toBe(true);
  expect(await isAlive(earlier)).toBe(false);
  await killProcess(earlier);
  expect(child.exitCode ?? child.signalCode).toBeNull();
  expect(await isAlive({ pid: identity.pid, startTicks: 0 })).toBe(false);
});

test("a killed process has ended when the call returns, and killing it again is no error", async () => {
  const child = await idle("-name", `${prefix}:f:1`);
  const ended = once(child, "exit");
  const [found] = await findByName(`${prefix}:f`, ours);
  if (found === undefined) throw new Error("not found");
  await killProcess(found.identity);
  expect(await isAlive(found.identity)).toBe(false);
  expect(await findByName(`${prefix}:f`, ours)).toEqual([]);
  expect((await ended)[1]).toBe("SIGKILL");
  await killProcess(found.identity);
});

test.each([
  ["by a runner", () => SpawnHelper.start(native.spawnHelper)],
  ["without one", () => undefined],
])(
  "a program that is launched %s is confined, is known by its identity, and has its own session",
  async (_how, start) => {
    const helper = await start();
    useSpawnHelper(helper);
    const folder = await mkdtemp("/tmp/skerry-unit-process-");
    const slots = testSlots("p", native);
    const slot = slots.take();
    try {
      await slots.open(slot);
      const identity = await launchQemu({
        launcher: native.launch,
        qemu: "/bin/sh",
        args: [
          "-c",
          'read pid name state parent group session rest </proc/self/stat; echo "$COLOR"; echo "$pid $session"; exec sleep 600',
        ],
        reads: tools,
        folder,
        listen: [],
        console: undefined,
        confinement: {
          uid: UID,
          ...{ device: undefined, hugePages: false },
          netnsFile: slot.netnsFile,
          tap: TAP,
          cgroup: undefined,
          fileMib: 1,
        },
        env: { COLOR: "blue" },
        state: undefined,
        pages: undefined,
        log: "log",
      });
      try {
        expect(await isAlive(identity)).toBe(true);
        const said = await logged(join(folder, "log"), 2);
        // Its session is its own: the id of a session is the pid of its first process.
        expect(said).toEqual(["blue", `${identity.pid} ${identity.pid}`]);
        expect((await stat(`/proc/${identity.pid}`)).uid).toBe(UID);
        // What has started it has ended, and is not waited for by anything.
        if (helper !== undefined) expect(await parentOf(identity.pid)).toBe(helper.pid);
      } finally {
        await killProcess(identity);
      }
      expect(await isAlive(identity)).toBe(false);
    } finally {
      await slots.close(slot);
      await slots.drain();
      await rm(folder, { recursive: true, force: true });
      useSpawnHelper(undefined);
      if (helper !== undefined) process.kill(helper.pid, "SIGKILL");
    }
  },
);

async function parentOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8");
  return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[1]);
}

/** The first lines of a file that is still being written: the launcher makes it, some time after it was started. */
async function logged(file: string, lines: number): Promise<string[]> {
  for (let attempt = 0; attempt < 500; attempt += 1) {
    const text = existsSync(file) ? await readFile(file, "utf8") : "";
    const found = text.split("\n").slice(0, -1);
    if (found.length >= lines) return found;
    await sleep(10);
  }
  throw new Error(`${file} did not get ${lines} lines`);
}

test("a program's output is returned, its failure told with its last words, and its deadline kept", async () => {
  const deadlineMs = 10_000;
  await expect(runProgram("cat", [], { deadlineMs, input: "in\n" })).resolves.toBe("in\n");
  const failing = runProgram("sh", ["-c", "echo out; echo err >&2; exit 3"], { deadlineMs });
  await expect(failing).rejects.toThrow(RunError);
  await expect(failing).rejects.toThrow(/^sh ended with 3: (out\nerr|err\nout)$/);
  await expect(runProgram("sleep", ["600"], { deadlineMs: 50 })).rejects.toThrow("sleep ended with SIGKILL");
  await expect(runProgram("/nowhere", [], { deadlineMs })).rejects.toThrow(
    "/nowhere ended with 127: spawn /nowhere ENOENT",
  );
});

test("what a program leaves running holds nothing up for ever by holding its output open", async () => {
  const leaving = await runProgram("sh", ["-c", "sleep 600 & echo $!"], { deadlineMs: 3_000 }).catch(String);
  const [, pid] = /sh did not end and close its output within 8 s: (\d+)$/.exec(leaving) ?? [];
  expect(pid, leaving).toBeDefined();
  process.kill(Number(pid), "SIGKILL");
});
