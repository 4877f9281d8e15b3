// Programs that fork and mount: nothing of them is left, however they or this process end.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { debootstrapDeadlines } from "../src/templates/debootstrap.ts";
import { ensureImage, isCutOffImage } from "../src/templates/image.ts";
import type { TemplateDescription } from "../src/templates/description.ts";
import { watchProgress } from "../src/system/progress-watch.ts";
import { removeWorkFolder } from "../src/system/remove-tree.ts";
import { runProgram, startProgram, useSpawnHelper } from "../src/system/run.ts";
import { SpawnHelper } from "../src/system/spawn-helper.ts";
import { removeUntouched } from "../src/app/unused-files.ts";
import { noImageCache } from "./support/image-caches.ts";
import { buildNative, type Native } from "./support/native.ts";

const deadlineMs = 20_000;
const POLL_MS = 20;
const path = process.env["PATH"] ?? "";
const log = pino({ level: "silent" });

let native: Native;
let folder: string;
beforeAll(async () => {
  native = await buildNative();
});
afterAll(() => native[Symbol.asyncDispose]());
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-contain-");
});
afterEach(async () => {
  process.env["PATH"] = path;
  for (const pid of await marked()) process.kill(pid, "SIGKILL");
  await removeWorkFolder(folder);
});

/** Mounts a file system below its folder, and leaves a child in a session of its own. Both processes ignore SIGTERM and hold its output open. */
const stubborn = (root: string, then: string): string => `
  trap '' TERM
  root="${root}"
  mkdir -p "$root/proc" && mount -t tmpfs skerry-unit "$root/proc" && touch "$root/proc/inside" || exit 9
  setsid sh -c "trap '' TERM; while :; do sleep 600; done" '${folder}' &
  echo begun
  ${then}`;

const forEver = `touch "$root/begun"; sleep 600`;

/** Pids of processes that have the folder among their arguments, other than this one. */
async function marked(): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    const words = await readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "");
    if (words.includes(folder)) found.push(Number(name));
  }
  return found;
}

async function mountsHere(): Promise<string[]> {
  const mounts = (await readFile("/proc/self/mounts", "utf8")).split("\n");
  return mounts.filter((line) => line.includes(folder));
}

/** Waits until nothing runs any more; the kernel ends the processes one after the other. */
async function noneIsLeft(): Promise<void> {
  await expect.poll(marked, { timeout: deadlineMs, interval: POLL_MS }).toEqual([]);
  expect(await mountsHere()).toEqual([]);
}

const ways: readonly [string, boolean][] = [
  ["the spawn helper", true],
  ["this process", false],
];

for (const [who, isHelped] of ways) {
  test(`nothing is left of a program that ${who} started when it ends, and its output and exit code arrive`, async () => {
    await using _helper = isHelped ? await helped() : undefined;
    const { contain } = native;
    const said = await runProgram("sh", ["-c", stubborn(folder, "exit 0")], { deadlineMs, contain });
    expect(said).toBe("begun\n");
    await noneIsLeft();
    const failing = runProgram("sh", ["-c", stubborn(folder, "exit 3")], { deadlineMs, contain });
    await expect(failing).rejects.toThrow("sh ended with 3: begun");
    await noneIsLeft();
  });

  test(`nothing is left of a program that ${who} started at its deadline, which the error names`, async () => {
    await using _helper = isHelped ? await helped() : undefined;
    const program = startProgram("sh", ["-c", stubborn(folder, forEver)], {
      deadlineMs: 1,
      contain: native.contain,
    });
    await appears(join(folder, "begun"));
    await expect(program.finish("")).rejects.toThrow(
      "sh ended with SIGKILL (not done within 0.001 s): begun",
    );
    await noneIsLeft();
  });
}

async function helped(): Promise<AsyncDisposable> {
  const helper = await SpawnHelper.start(native.spawnHelper);
  useSpawnHelper(helper);
  return {
    async [Symbol.asyncDispose]() {
      useSpawnHelper(undefined);
      if (helper.isThere) process.kill(helper.pid, "SIGKILL");
      await helper.gone;
    },
  };
}

test("nothing is left of a program whose spawn helper is killed", async () => {
  const helper = await SpawnHelper.start(native.spawnHelper);
  useSpawnHelper(helper);
  try {
    const program = startProgram("sh", ["-c", stubborn(folder, forEver)], {
      deadlineMs,
      contain: native.contain,
    });
    const ended = program.finish("");
    ended.catch(() => undefined);
    await appears(join(folder, "begun"));
    expect(await marked()).not.toEqual([]);
    process.kill(helper.pid, "SIGKILL");
    await expect(ended).rejects.toThrow("its exit was not seen");
    await noneIsLeft();
  } finally {
    useSpawnHelper(undefined);
  }
});

test("nothing is left of a program that is aborted", async () => {
  const stop = new AbortController();
  const args = ["-c", stubborn(folder, forEver)];
  const running = runProgram("sh", args, { deadlineMs, contain: native.contain, signal: stop.signal });
  running.catch(() => undefined);
  await appears(join(folder, "begun"));
  stop.abort();
  await expect(running).rejects.toThrow();
  await noneIsLeft();
});

test("a program that there is not is told, and one whose parent has ended does not start", async () => {
  const { contain } = native;
  const missing = runProgram("/nowhere/program", [], { deadlineMs, contain });
  await expect(missing).rejects.toThrow("/nowhere/program ended with 127: No such file or directory");
  await expect(runProgram(contain, ["--parent", "1", "echo", "ran"], { deadlineMs })).rejects.toThrow(
    "ended with 126",
  );
});

test("a program that stands still is given up, and the error says so", async () => {
  const still = runProgram("sh", ["-c", "echo said; sleep 600"], {
    ...{ deadlineMs: 600_000, contain: native.contain },
    progress: { withinMs: 1_000, measure: async () => "the same" },
  });
  await expect(still).rejects.toThrow("sh ended with SIGKILL (no progress within 1 s): said");
});

describe("a deadline that counts from the last progress", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] }));
  afterEach(() => void vi.useRealTimers());

  test("never comes while there is output or what is measured changes, and once when both are still", async () => {
    let measured = 0;
    let grows = true;
    const expired: string[] = [];
    const deadline = { withinMs: 900_000, measure: async () => (grows ? (measured += 1) : measured) };
    const watch = watchProgress(deadline, (why) => void expired.push(why));
    await vi.advanceTimersByTimeAsync(7_200_000);
    grows = false;
    for (let minute = 0; minute < 60; minute += 1) {
      await vi.advanceTimersByTimeAsync(60_000);
      watch.note();
    }
    await vi.advanceTimersByTimeAsync(800_000);
    expect(expired).toEqual([]);
    await vi.advanceTimersByTimeAsync(900_000);
    expect(expired).toEqual(["no progress within 900 s"]);
    watch.stop();
  });

  test("comes where nothing can be measured", async () => {
    const expired: string[] = [];
    const measure = () => Promise.reject(new Error("no such folder"));
    const watch = watchProgress({ withinMs: 900_000, measure }, (why) => void expired.push(why));
    await vi.advanceTimersByTimeAsync(950_000);
    expect(expired).toHaveLength(1);
    watch.stop();
  });
});

test("the growth of the folder that mmdebstrap works in is progress, and touches it", async () => {
  const { progress } = debootstrapDeadlines(folder);
  const longAgo = new Date("2026-01-01");
  const measured = async (): Promise<readonly [unknown, boolean]> => {
    await utimes(folder, longAgo, longAgo);
    const answer = await progress?.measure();
    return [answer, (await stat(folder)).mtime > longAgo];
  };
  await mkdir(join(folder, "root"));
  const [first] = await measured();
  expect(await measured()).toEqual([first, false]);
  await writeFile(join(folder, "root/package.deb"), "x".repeat(10_000));
  const [second, isTouched] = await measured();
  expect([second === first, isTouched]).toEqual([false, true]);
  await rm(join(folder, "root"), { recursive: true });
  expect(await measured()).toEqual([expect.stringMatching(/^\d+\s/), true]);
});

async function appears(file: string): Promise<void> {
  for (const end = Date.now() + deadlineMs; Date.now() < end; await sleep(POLL_MS))
    if (await stat(file).then(Boolean, () => false)) return;
  throw new Error(`${file} did not appear`);
}

/** In the place of mmdebstrap: its root is the last argument but one. */
async function standIn(then: string): Promise<void> {
  const bin = join(folder, "bin");
  await mkdir(bin);
  const last = "while [ $# -gt 2 ]; do shift; done";
  await writeFile(join(bin, "mmdebstrap"), `#!/bin/sh\n${last}\n${stubborn("$1", then)}\n`);
  await chmod(join(bin, "mmdebstrap"), 0o755);
  process.env["PATH"] = `${bin}${delimiter}${path}`;
}

const description = {
  ...{ name: "base", suite: "bookworm", packages: ["bash"], disk_gib: 1, warm_up: [] },
  diskDigest: "0".repeat(64),
} as unknown as TemplateDescription;

test("a host that is killed while it builds an image leaves no process and no mount, and the next one removes the folder", async () => {
  const images = join(folder, "images");
  await standIn(forEver);
  const module = (name: string): string => JSON.stringify(join(import.meta.dirname, "../src", name));
  const script = `import { ensureImage } from ${module("templates/image.ts")};
    import { SpawnHelper } from ${module("system/spawn-helper.ts")};
    import { useSpawnHelper } from ${module("system/run.ts")};
    const helper = await SpawnHelper.start(${JSON.stringify(native.spawnHelper)});
    useSpawnHelper(helper);
    const cache = { take: async () => false };
    const sources = { mirror: "http://127.0.0.1:1/", certificates: undefined, contain: ${JSON.stringify(native.contain)}, cache };
    await ensureImage(${JSON.stringify(images)}, ${JSON.stringify(description)}, sources);`;
  const host = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "ignore" });
  const ended = once(host, "exit");
  await expect.poll(() => readdir(images).catch(() => []), { timeout: deadlineMs }).toHaveLength(1);
  const [name = ""] = await readdir(images);
  expect(isCutOffImage(name)).toBe(true);
  await appears(join(images, name, "root/begun"));
  host.kill("SIGKILL");
  await ended;
  await noneIsLeft();
  expect(await removeUntouched([join(images, name)], Infinity, { remove: removeWorkFolder, log })).toBe(1);
  expect(await readdir(images)).toEqual([]);
});

test("an image that could not be built says why, and leaves nothing", async () => {
  const images = join(folder, "images");
  await standIn("echo 'E: no such package' >&2; exit 25");
  const building = ensureImage(images, description, {
    ...{ mirror: "http://127.0.0.1:1/", certificates: undefined, contain: native.contain },
    cache: noImageCache,
  });
  await expect(building).rejects.toThrow(/^mmdebstrap ended with 25: begun\nE: no such package$/);
  expect(await readdir(images)).toEqual([]);
  await noneIsLeft();
});
