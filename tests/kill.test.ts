// kill -9 of each process in each phase. Whatever moment it hits, afterwards what runs, what is taken and what is written down
// agree again, and the sandboxes that were not killed themselves still answer.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { SkerryApiError, type Machine, type Sandbox } from "../packages/sdk/src/skerry.ts";
import { qemuProcesses } from "./support/leftovers.ts";
import {
  inventory,
  qemuPidOf,
  serverPid,
  skerry,
  startPlatform,
  until,
  untilReplaced,
  type Platform,
} from "./support/platform.ts";
import { covering, sampled } from "./support/sampling.ts";

/** What the architecture promises, after the services are back. */
const SETTLED_WITHIN_MS = 30_000;

const victims = ["control", "host", "qemu", "supervisor", "postgres"] as const;
/** Of what replaces a VM, or saves it. The host also as every upgrade ends it. */
const victimsOfLives = ["control", "host", "host in order", "qemu"] as const;
type Victim = (typeof victims)[number] | (typeof victimsOfLives)[number];
const phases = ["create", "execute", "destroy", "reap", "stop", "restart"] as const;
const phasesOfLives = ["pause", "resume", "snapshot", "fork", "rollback", "rollback of a machine"] as const;
type Phase = (typeof phases)[number] | (typeof phasesOfLives)[number];

let platform: Platform;
let survivor: Sandbox;

beforeAll(async () => {
  // So that what has expired is reaped about when the victim is killed.
  platform = await startPlatform({
    assets: inject("assets"),
    env: { SKERRY_REAPER_INTERVAL_MS: "500", SKERRY_READY_SLOTS: "4" },
  });
  survivor = await platform.client.sandboxes.create({ template: "base", timeout: "1h" });
  await survivor.execute("echo alive > /tmp/survivor");
});

afterAll(async () => {
  await platform.stop();
});

/** From the first instructions of the operation to about its end, on this and on faster machines. */
const often = [5, 40, 120, 250];
/** In the middle of it: moves of drained hosts have a file of their own. */
const delaysMs: { readonly [P in Phase]: readonly number[] } = {
  ...{ create: often, execute: often, destroy: often },
  ...{ reap: [300], stop: [120], restart: [1_500] },
  ...{ pause: [20, 200, 500, 900], resume: [10, 100, 300], rollback: [10, 100, 250, 400] },
  ...{ snapshot: [20, 200, 500], fork: [20, 300, 900], "rollback of a machine": [150, 400, 700] },
};

const table: readonly (readonly [Phase, Victim])[] = [
  ...phases.flatMap((phase) => victims.map((victim) => [phase, victim] as const)),
  ...phasesOfLives.flatMap((phase) => victimsOfLives.map((victim) => [phase, victim] as const)),
];

for (const [phase, victim] of covering("kill", table, 14)) {
  test(`nothing is lost or left behind when ${victim} is killed during ${phase}`, async () => {
    const all = victim === "postgres" ? delaysMs[phase].slice(-1) : delaysMs[phase];
    for (const delayMs of sampled(`kill ${victim} during ${phase}`, all)) {
      await strike(victim, phase, delayMs);
      await expectSettled();
      const seen = await survivor.execute("cat /tmp/survivor");
      expect(seen.stdout, `the survivor after ${delayMs} ms`).toBe("alive\n");
    }
  });
}

test("when PostgreSQL is killed callers are told so, and all goes on once it is back", async () => {
  process.kill(await serverPid(platform, "postgres"), "SIGKILL");
  const codes: string[] = [];
  await until("the API has failed and works again", async () => {
    const code = await survivor.execute("true").then(
      () => "ok",
      (error: unknown) => (error instanceof SkerryApiError ? error.code : String(error)),
    );
    if (code !== codes.at(-1)) codes.push(code);
    return code === "ok" && codes.length > 1;
  });
  const log = await readFile(join(platform.state, "log/control.log"), "utf8");
  const unexpected = log.split("\n").filter((line) => line.includes("failed unexpectedly"));
  expect(
    codes.filter((code) => code !== "ok"),
    unexpected.join("\n"),
  ).toEqual(["database_unavailable"]);
  await expectSettled();
});

test("after all of it, every sandbox can be destroyed and nothing remains", async () => {
  for await (const sandbox of platform.client.sandboxes.list()) await sandbox.destroy();
  expect(await inventory(platform)).toEqual({
    processes: 0,
    namespaces: 0,
    overlays: 0,
    runningRows: 0,
    unsettledRows: 0,
  });
});

/** Begins the operation, kills the victim in the middle, and waits for whatever the operation then answers. */
async function strike(victim: Victim, phase: Phase, delayMs: number): Promise<void> {
  const spared = await qemuPidOf(platform, survivor.id);
  const target = await targets[phase]();
  const operation = target.operation();
  // An error is an honest answer here; what matters is what is left afterwards.
  operation.catch(() => undefined);
  await sleep(delayMs);
  const [killed = 0] = await kill(victim, spared);
  // Nobody starts a supervisor again but the user. Its services are replaced, and no VM may notice.
  if (victim === "supervisor") await skerry(platform.env, "up");
  else if (victim !== "qemu") await untilReplaced(platform, serverOf(victim), killed);
  const [outcome] = await Promise.allSettled([operation]);
  const isOfLives = (phasesOfLives as readonly Phase[]).includes(phase);
  // A guest that has ended is no fault of the platform's.
  if (isOfLives && victim === "qemu") expect(codeOf(outcome), `after ${delayMs} ms`).not.toBe("internal");
  await servicesBack();
  await target.end(victim);
}

function codeOf(outcome: PromiseSettledResult<unknown>): string {
  if (outcome.status === "fulfilled") return "ok";
  const reason: unknown = outcome.reason;
  return reason instanceof SkerryApiError ? reason.code : String(reason);
}

interface Target {
  operation(): Promise<unknown>;
  /** Sees what was wished for come true, and removes it. */
  end(victim: Victim): Promise<void>;
}

const targets: { readonly [P in Phase]: () => Promise<Target> } = {
  create: async () => ({ operation: newSandbox, end: async () => undefined }),
  async execute() {
    const sandbox = await newSandbox();
    return { operation: () => sandbox.execute("sleep 0.2; echo done"), end: () => sandbox.destroy() };
  },
  async destroy() {
    const sandbox = await newSandbox();
    return { operation: () => sandbox.destroy(), end: () => sandbox.destroy() };
  },
  async reap() {
    const sandbox = await newSandbox("2s");
    await sleep(Math.max(0, Date.parse(sandbox.info.expires_at) - Date.now()));
    const isOver = async () => ["destroyed", "failed"].includes((await sandbox.refresh()).info.status);
    return { operation: () => until("it is reaped", isOver), end: () => until("it is reaped", isOver) };
  },
  stop: () => machineTarget((id) => platform.client.machines.stop(id), "stopped"),
  restart: () => machineTarget((id) => platform.client.machines.restart(id), "running"),
  pause: () => dirtyTarget((sandbox) => sandbox.pause()),
  snapshot: () => dirtyTarget((sandbox) => sandbox.snapshot()),
  async fork() {
    const forks: Sandbox[] = [];
    const target = await dirtyTarget(async (sandbox) => forks.push(...(await sandbox.fork(2))));
    const end = async (victim: Victim): Promise<void> => {
      await target.end(victim);
      for (const fork of forks) await fork.destroy();
    };
    return { ...target, end };
  },
  async resume() {
    const sandbox = await newPersistent();
    await sandbox.pause();
    return { operation: () => sandbox.resume(), end: (victim) => endOfLife(sandbox, victim) };
  },
  async rollback() {
    const sandbox = await newPersistent();
    const { id } = await sandbox.snapshot();
    const end = async (victim: Victim): Promise<void> => {
      await endOfLife(sandbox, victim);
      await platform.client.snapshots.delete(id);
    };
    return { operation: () => sandbox.rollback(id), end };
  },
  "rollback of a machine": rolledBackMachine,
};

/** Its disk is given up in the middle. */
async function rolledBackMachine(): Promise<Target> {
  const { machines, snapshots } = platform.client;
  const { id } = await machines.create({ template: "base", command: "exec sleep 100000" });
  const { id: snapshot } = await machines.snapshot(id);
  const end = async (): Promise<void> => {
    await until("the machine runs again", async () => (await machines.get(id)).status === "running");
    await machines.destroy(id);
    await snapshots.delete(snapshot);
  };
  return { operation: () => machines.rollback(id, snapshot), end };
}

/** Its memory takes a while to write. */
async function dirtyTarget(operation: (sandbox: Sandbox) => Promise<unknown>): Promise<Target> {
  const sandbox = await newPersistent();
  await sandbox.execute("head -c 40M /dev/urandom > /dev/shm/dirty");
  return { operation: () => operation(sandbox), end: (victim) => endOfLife(sandbox, victim) };
}

const MARK = "/root/mark";

async function newPersistent(): Promise<Sandbox> {
  const sandbox = await platform.client.sandboxes.create({
    template: "base",
    mode: "persistent",
    timeout: "1h",
  });
  await sandbox.execute(`echo kept > ${MARK}; sync`);
  return sandbox;
}

/** It rests somewhere soon, with its data; only a QEMU that was killed may have taken it along, and then it says so. */
async function endOfLife(sandbox: Sandbox, victim: Victim): Promise<void> {
  const status = async () => (await sandbox.refresh()).info.status;
  await until(
    "the sandbox is neither paused nor resumed any more",
    async () => ["running", "paused", "failed"].includes(await status()),
    SETTLED_WITHIN_MS,
  );
  // What has ended and is listed as running is worth one more look.
  const seen = await sandbox.execute(`cat ${MARK}`).catch(() => undefined);
  if (seen?.stdout !== "kept\n") {
    expect(victim, `it is ${await status()}: ${sandbox.info.reason}`).toBe("qemu");
    await until("it has failed", async () => (await status()) === "failed", SETTLED_WITHIN_MS);
    expect(sandbox.info.reason).toContain("ended");
  }
  await sandbox.destroy();
}

function newSandbox(timeout = "1h"): Promise<Sandbox> {
  return platform.client.sandboxes.create({ template: "base", timeout });
}

async function machineTarget(
  operation: (id: string) => Promise<unknown>,
  wished: Machine["status"],
): Promise<Target> {
  const { machines } = platform.client;
  const command = "exec sleep 100000";
  const { id } = await machines.create({ template: "base", command, stop_timeout: "1s" });
  const end = async (): Promise<void> => {
    await until(`the machine is ${wished}`, async () => (await machines.get(id)).status === wished);
    await machines.destroy(id);
  };
  return { operation: () => operation(id), end };
}

/** Of QEMU every process but one, also of the clones that wait. */
async function kill(victim: Victim, spared: number): Promise<readonly number[]> {
  const pids = await pidsOf(victim);
  const signal = victim === "host in order" ? "SIGTERM" : "SIGKILL";
  for (const pid of pids) {
    if (pid === spared) continue;
    try {
      process.kill(pid, signal);
    } catch {
      // A QEMU may have ended by itself between the two looks.
    }
  }
  return pids;
}

async function pidsOf(victim: Victim): Promise<number[]> {
  if (victim !== "qemu") return [await serverPid(platform, serverOf(victim))];
  return (await qemuProcesses(platform.instance)).map(({ pid }) => pid);
}

function serverOf<V extends Exclude<Victim, "qemu">>(victim: V): Exclude<V, "host in order"> | "host" {
  return victim === "host in order" ? "host" : (victim as Exclude<V, "host in order">);
}

/** The supervisor has started again what was killed, and a sandbox answers through both servers. Where it is, control knows also without
 *  its database, so the row is read first. */
async function servicesBack(): Promise<void> {
  const used = async () => (await survivor.refresh()).execute("true");
  await until("control, its database and the host answer again", async () =>
    used().then(
      (run) => run.exit_code === 0,
      () => false,
    ),
  );
}

async function expectSettled(): Promise<void> {
  await until(
    "processes, namespaces, overlays and rows agree",
    async () => {
      const { processes, namespaces, overlays, runningRows, unsettledRows } = await inventory(platform);
      return unsettledRows === 0 && new Set([processes, namespaces, overlays, runningRows]).size === 1;
    },
    SETTLED_WITHIN_MS,
  );
}
