// Clones that wait. They may be handed out once, to one owner, as nobody; and whatever happens to them, no owner notices.

import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { namespacesInUse, qemuProcesses } from "./support/leftovers.ts";
import {
  inventory,
  qemuPidOf,
  serverPid,
  startPlatform,
  until,
  waitingClones,
  type Platform,
} from "./support/platform.ts";

const WAITING = 3;
let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform({
    assets: inject("assets"),
    env: { SKERRY_WARM_MIN: String(WAITING), SKERRY_WARM_MAX: "8" },
  });
});

afterAll(async () => {
  await platform.stop();
});

function create(): Promise<Sandbox> {
  return platform.client.sandboxes.create({ template: "base", timeout: "30m" });
}

/** Processes of clones that have been made and stand still. */
async function standingStill(): Promise<number[]> {
  const folders = await waitingClones(platform);
  const pids: number[] = [];
  for (const { pid, vm } of await qemuProcesses(platform.instance)) {
    const uses = await cpuTicksOf(pid);
    if (folders.includes(vm) && uses !== undefined && uses === (await later(() => cpuTicksOf(pid))))
      pids.push(pid);
  }
  return pids;
}

async function later<T>(work: () => Promise<T>): Promise<T> {
  await new Promise((resolve) => setTimeout(resolve, 300));
  return work();
}

async function cpuTicksOf(pid: number): Promise<number | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields === undefined ? undefined : Number(fields[11]) + Number(fields[12]);
}

function poolIsFull(): Promise<void> {
  return until("clones wait", async () => (await standingStill()).length >= WAITING);
}

test("clones wait without using the CPU, in slots without a policy, and are no sandboxes", async () => {
  await poolIsFull();
  expect(await namespacesInUse(`${platform.instance}-`)).toEqual([]);
  expect(await inventory(platform)).toEqual({
    processes: 0,
    namespaces: 0,
    overlays: 0,
    runningRows: 0,
    unsettledRows: 0,
  });
});

test("a sandbox is a clone that waited, and knows nothing of that", async () => {
  await poolIsFull();
  const waiting = await standingStill();
  await using sandbox = await create();
  expect(waiting).toContain(await qemuPidOf(platform, sandbox.id));
  const beforeS = Date.now() / 1_000 - 2;
  const seen = await sandbox.execute("hostname; date +%s");
  const [name, clockS] = seen.stdout.split("\n");
  expect(name).toBe(sandbox.id.replace("_", "-"));
  expect(Number(clockS)).toBeGreaterThan(beforeS);
  expect(Number(clockS)).toBeLessThan(Date.now() / 1_000 + 2);
});

test("of sandboxes that are asked for at once none gets another's clone, and each is somebody of its own", async () => {
  await poolIsFull();
  const all = await Promise.all(Array.from({ length: 6 }, create));
  try {
    const pids = await Promise.all(all.map(({ id }) => qemuPidOf(platform, id)));
    expect(new Set(pids).size).toBe(all.length);
    for (const command of [
      "cat /proc/sys/kernel/random/uuid",
      "cat /etc/machine-id",
      "hostname",
      "head -c 32 /dev/urandom | od -An -tx1",
      "python3 -c 'import os; print(os.getrandom(32).hex())'",
    ]) {
      const outputs = await Promise.all(all.map(async (one) => (await one.execute(command)).stdout));
      expect(new Set(outputs).size, command).toBe(all.length);
    }
  } finally {
    await Promise.all(all.map((one) => one.destroy()));
  }
});

test("the environment and the rules of a sandbox are in force in a clone that waited", async () => {
  await poolIsFull();
  await using sandbox = await platform.client.sandboxes.create({
    template: "base",
    env: { GREETING: "hello" },
    egress: { mode: "deny_all" },
  });
  expect((await sandbox.execute("echo $GREETING")).stdout).toBe("hello\n");
  await sandbox.execute("python3 -c 'import socket; socket.create_connection((\"203.0.113.9\", 80), 2)'");
  expect((await sandbox.egress()).denied).toContainEqual(
    expect.objectContaining({ address: "203.0.113.9", port: 80, rule: "deny_all" }),
  );
});

test("a clone that dies while it waits is replaced, and whoever asks meanwhile gets another", async () => {
  await poolIsFull();
  const before = await standingStill();
  for (const pid of before) process.kill(pid, "SIGKILL");
  await using sandbox = await create();
  expect((await sandbox.execute("echo alive")).stdout).toBe("alive\n");
  expect(before).not.toContain(await qemuPidOf(platform, sandbox.id));
  await poolIsFull();
});

test("what waits when the host is killed is removed, and new ones wait", async () => {
  await poolIsFull();
  await using sandbox = await create();
  const before = await waitingClones(platform);
  process.kill(await serverPid(platform, "host"), "SIGKILL");
  await until("a clone waits that did not before", async () =>
    (await waitingClones(platform)).some((name) => !before.includes(name)),
  );
  await poolIsFull();
  expect((await waitingClones(platform)).filter((name) => before.includes(name))).toEqual([]);
  expect((await sandbox.execute("echo alive")).stdout).toBe("alive\n");
  expect(await inventory(platform)).toMatchObject({ processes: 1, namespaces: 1, overlays: 1 });
});
