// kill -9 of each process in each phase. Whatever moment it hits, afterwards what runs, what is taken and what is written down
// agree again, and the sandboxes that were not killed themselves still answer.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { SkerryApiError, type Sandbox } from "../packages/sdk/src/skerry.ts";
import { qemuProcesses } from "./support/leftovers.ts";
import {
  inventory,
  qemuPidOf,
  serverPid,
  skerry,
  startPlatform,
  until,
  type Platform,
} from "./support/platform.ts";

/** What the architecture promises, after the services are back. */
const SETTLED_WITHIN_MS = 30_000;

type Victim = "control" | "host" | "qemu" | "supervisor";
type Phase = "create" | "execute" | "destroy";

let platform: Platform;
let survivor: Sandbox;

beforeAll(async () => {
  platform = await startPlatform({ assets: inject("assets") });
  survivor = await platform.client.sandboxes.create({ template: "base", timeout: "1h" });
  await survivor.execute("echo alive > /tmp/survivor");
});

afterAll(async () => {
  await platform.stop();
});

const victims: readonly Victim[] = ["control", "host", "qemu", "supervisor"];
const phases: readonly Phase[] = ["create", "execute", "destroy"];
/** From the first instructions of the operation to about its end, on this and on faster machines. */
const delaysMs = [5, 40, 120, 250];

for (const victim of victims) {
  for (const phase of phases) {
    test(`nothing is lost or left behind when ${victim} is killed during ${phase}`, async () => {
      for (const delayMs of delaysMs) {
        await strike(victim, phase, delayMs);
        await expectSettled();
        const seen = await survivor.execute("cat /tmp/survivor");
        expect(seen.stdout, `the survivor after ${delayMs} ms`).toBe("alive\n");
      }
    });
  }
}

test("when PostgreSQL is killed callers are told so, and all goes on once it is back", async () => {
  const postmaster = await readFile(join(platform.state, "postgres/postmaster.pid"), "utf8");
  process.kill(Number(postmaster.split("\n")[0]), "SIGKILL");
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
  const target =
    phase === "create"
      ? undefined
      : await platform.client.sandboxes.create({ template: "base", timeout: "1h" });
  const operation = begin(phase, target);
  // An error is an honest answer here; what matters is what is left afterwards.
  operation.catch(() => undefined);
  await sleep(delayMs);
  await kill(victim, spared);
  // Nobody starts a supervisor again but the user. Its services are replaced, and no VM may notice.
  if (victim === "supervisor") await skerry(platform.env, "up");
  await Promise.allSettled([operation]);
  await servicesBack();
  await target?.destroy();
}

function begin(phase: Phase, target: Sandbox | undefined): Promise<unknown> {
  if (target === undefined) return platform.client.sandboxes.create({ template: "base", timeout: "1h" });
  return phase === "execute" ? target.execute("sleep 0.2; echo done") : target.destroy();
}

/** Of QEMU every process but one, also of the clones that wait. */
async function kill(victim: Victim, spared: number): Promise<void> {
  const pids =
    victim === "qemu"
      ? (await qemuProcesses(platform.instance)).map((one) => one.pid).filter((pid) => pid !== spared)
      : [await serverPid(platform, victim)];
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // A QEMU may have ended by itself between the two looks.
    }
  }
}

/** The supervisor has started again what was killed, and a sandbox answers through both servers. */
async function servicesBack(): Promise<void> {
  await until("control and host answer again", async () =>
    survivor.execute("true").then(
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
