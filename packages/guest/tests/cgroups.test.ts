// Needs a writable cgroup v2 hierarchy (root, or a delegated one); elsewhere there is nothing to test with.
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
} from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { type Build, buildSanitized, type RunningAgent, startAgent } from "./support/sanitized.ts";

const BUILD_MS = 120_000;
const hierarchy = writableHierarchy();
let build: Build;
let agent: RunningAgent;
let root: string;

beforeAll(async () => void (build = await buildSanitized()), BUILD_MS);
beforeEach(async () => {
  root = path.join(hierarchy ?? "", `skerry-guest-test-${process.pid}`);
  if (hierarchy !== undefined) mkdirSync(root);
  agent = await startAgent(build, hierarchy === undefined ? undefined : root);
});
afterEach(async () => {
  expect(await agent.stop()).toBe("");
  if (hierarchy !== undefined) await removeCgroups(root);
});

const withCgroups = test.skipIf(hierarchy === undefined);

withCgroups("a timeout also kills what has left the command's session and process group", async () => {
  const escape = "setsid sh -c 'setsid sleep 300 & echo $!' ; sleep 300";
  const ended = await agent.link.execute(escape, { timeout_ms: 3_000 });
  expect(ended.result).toMatchObject({ exit_code: 137, timed_out: true });
  const pid = ended.stdout.toString().trim();
  expect(pid).toMatch(/^\d+$/u);
  await until(() => !existsSync(`/proc/${pid}`));
});

withCgroups(
  "SIGKILL to the main process reaches what has left its session, and its end tells of no want of memory",
  async () => {
    const pidFile = `/tmp/skerry-guest-main-${process.pid}`;
    const main = agent.link.open({
      op: "main",
      command: `setsid sh -c 'echo $$ > ${pidFile}; exec sleep 300' & sleep 300`,
      env: {},
    });
    await until(() => existsSync(pidFile) && readFileSync(pidFile, "utf8").endsWith("\n"));
    const pid = readFileSync(pidFile, "utf8").trim();
    rmSync(pidFile);
    await agent.link.open({ op: "terminate", signal: 9 }).ended;
    expect((await main.ended).result).toEqual({ exit_code: 137, signal: 9, oom_killed: false });
    await until(() => !existsSync(`/proc/${pid}`));
  },
);

withCgroups("the cgroup of a command is removed when its last background child has ended", async () => {
  const ended = await agent.link.execute("sleep 300 & echo $!; cat /proc/self/cgroup");
  const folder = path.join(
    root,
    "run",
    path.basename(/^0::(.*)$/mu.exec(ended.stdout.toString())?.[1] ?? ""),
  );
  expect(existsSync(folder)).toBe(true);
  process.kill(Number.parseInt(ended.stdout.toString(), 10), "SIGKILL");
  await until(() => !existsSync(folder));
});

withCgroups("a command whose cgroup was removed under the agent still runs", async () => {
  await removeCgroups(path.join(root, "run"));
  expect((await agent.link.execute("echo still")).stdout.toString()).toBe("still\n");
  expect((await agent.link.list("/")).done).toBe(true);
});

async function until(isSo: () => boolean): Promise<void> {
  let so = isSo();
  for (let waited = 0; waited < 500 && !so; waited += 1) {
    // oxlint-disable-next-line no-await-in-loop -- a wait of at most five seconds
    await sleep(10);
    so = isSo();
  }
  expect(so).toBe(true);
}

function writableHierarchy(): string | undefined {
  const mounts = readFileSync("/proc/mounts", "utf8").matchAll(/^\S+ (\S+) cgroup2 /gmu);
  for (const [, folder = ""] of mounts) {
    try {
      accessSync(folder, constants.W_OK);
      return folder;
    } catch {
      // The next one, if there is any.
    }
  }
  return undefined;
}

withCgroups("a guest is idle when no process is left of what was run in it", async () => {
  const idle = async (): Promise<unknown> => (await agent.link.open({ op: "idle" }).ended).result;
  expect(await idle()).toEqual({ idle: true });
  const { stdout } = await agent.link.execute("sleep 300 >/dev/null 2>&1 & echo $!");
  expect(await idle()).toEqual({ idle: false });
  process.kill(Number(stdout.toString()), "SIGKILL");
  let seen = await idle();
  for (let waited = 0; waited < 500 && !(seen as { idle?: boolean }).idle; waited += 1) {
    // oxlint-disable-next-line no-await-in-loop -- a wait of at most five seconds
    await sleep(10);
    // oxlint-disable-next-line no-await-in-loop
    seen = await idle();
  }
  expect(seen).toEqual({ idle: true });
});

/** Again where a group is busy: the agent may be making its next one, and a process that was killed leaves when the kernel is done with it. */
async function removeCgroups(folder: string): Promise<void> {
  await until(() => {
    try {
      removeTree(folder);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EBUSY") return false;
      throw error;
    }
  });
}

function removeTree(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeTree(path.join(folder, entry.name));
  }
  rmdirSync(folder);
}
