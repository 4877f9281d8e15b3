// What is said to two QEMUs so that one goes on where the other has stood still. The disk is mirrored over
// NBD while the guest runs, block by block as it writes; then memory and devices follow, and the guest stops
// for what is left of them. Nothing of it is read by us: each QEMU, confined as ever, has to cope with what
// the other says.

import { setTimeout as sleep } from "node:timers/promises";
import { Precopy, type RamProgress } from "./precopy.ts";
import { runState, QmpError, type Qmp } from "./qmp.ts";

/** Sockets in the folder of the VM. QEMU's working directory is that folder. */
export const moveSockets = { disk: "move-disk.sock", memory: "move-memory.sock" } as const;

const DISK_NODE = "root";
const EXPORT = "root";
const TARGET_NODE = "moved";
const MIRROR_JOB = "move";
/** The other side's QEMU waits for ours already, and all that they say is who they are. Ours and its guest
 *  stand still meanwhile. */
const OPEN_DISK_WITHIN_MS = 3_000;
/** What QEMU may take for the last pages, by its own guess of the speed. */
const DOWNTIME_LIMIT_MS = 100;
/** In per cent of its time, how much a guest is slowed down at first that writes its memory faster than it is sent. */
const THROTTLE_INITIAL = 20;
const MAX_BANDWIDTH = 100_000_000_000;
const POLL_MS = 2;
/** No byte was transferred for this long: the other side is gone or stuck. */
const STALL_MS = 60_000;

/** Lets a QEMU that was started for an arrival listen for it, on sockets in its folder. */
export async function awaitArrival(qmp: Qmp): Promise<void> {
  await setCapabilities(qmp);
  await qmp.execute("nbd-server-start", {
    addr: { type: "unix", data: { path: moveSockets.disk } },
    "max-connections": 1,
  });
  await qmp.execute("block-export-add", {
    ...{ type: "nbd", id: EXPORT, name: EXPORT },
    ...{ "node-name": DISK_NODE, writable: true },
  });
  await qmp.execute("migrate-incoming", { uri: `unix:${moveSockets.memory}` });
}

/** Resolves when the guest is complete here. It is paused. */
export async function arrived(qmp: Qmp, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { status, "error-desc": why } = await migration(qmp);
    if (status === "completed") break;
    if (status === "failed") throw new QmpError(`the guest did not arrive: ${why ?? "no reason given"}`);
    await sleep(POLL_MS, undefined, { signal });
  }
  await qmp.execute("nbd-server-stop");
}

/** Copies the disk to the target, and from then on each write too. Resolves when both are the same. */
export async function mirrorDisk(qmp: Qmp, signal: AbortSignal): Promise<void> {
  const disk = {
    ...{ driver: "nbd", "node-name": TARGET_NODE, export: EXPORT },
    server: { type: "unix", path: moveSockets.disk },
  };
  await qmp.execute("blockdev-add", disk, OPEN_DISK_WITHIN_MS);
  await qmp.execute("blockdev-mirror", {
    ...{ "job-id": MIRROR_JOB, device: DISK_NODE, target: TARGET_NODE },
    // What lies below is the same over there.
    sync: "top",
    // A guest waits for its own writes to be in both places, so the copy cannot fall behind.
    "copy-mode": "write-blocking",
    ...{ "on-source-error": "report", "on-target-error": "report" },
    // So that it can still be asked how it ended.
    "auto-dismiss": false,
  });
  const stall = new Stall();
  for (;;) {
    const job = await mirrorJob(qmp);
    if (job?.status === "ready") return;
    if (job === undefined || job.status === "concluded")
      throw new QmpError(`the disk could not be copied: ${job?.error ?? "no reason given"}`);
    stall.check(job["current-progress"]);
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Sends memory and devices. Resolves when the target has all of it; the guest stands still since
 *  `stoppedMs` of `performance.now()`. An emulated guest stands still from the beginning: what it writes
 *  while its memory is sent is not all noticed (QEMU before 9.0 keeps writing through stale translations,
 *  and later ones still have a race there), and it would go on with pages of different age. */
export async function sendMemory(qmp: Qmp, signal: AbortSignal): Promise<{ readonly stoppedMs: number }> {
  await setCapabilities(qmp);
  await qmp.execute("migrate-set-parameters", {
    "max-bandwidth": MAX_BANDWIDTH,
    "downtime-limit": DOWNTIME_LIMIT_MS,
    "cpu-throttle-initial": THROTTLE_INITIAL,
  });
  let stoppedMs: number | undefined;
  const stop = async (): Promise<void> => {
    stoppedMs = performance.now();
    await qmp.execute("stop");
  };
  if (await isEmulated(qmp)) await stop();
  await qmp.execute("migrate", { uri: `unix:${moveSockets.memory}` });
  const precopy = new Precopy(performance.now());
  const stall = new Stall();
  let toldToGoOn = false;
  for (;;) {
    const seen = await migration(qmp);
    if (isComplete(seen)) return { stoppedMs: stoppedMs ?? performance.now() };
    // QEMU still reports this status for a moment after `migrate-continue`.
    if (seen.status === "pre-switchover" && !toldToGoOn) {
      stoppedMs ??= performance.now();
      await finishMirror(qmp, signal);
      await qmp.execute("migrate-continue", { state: seen.status });
      toldToGoOn = true;
    } else if (stoppedMs === undefined && precopy.isFutile(seen.ram, performance.now())) {
      await stop();
    }
    stall.check(seen.ram?.transferred);
    await sleep(POLL_MS, undefined, { signal });
  }
}

async function isEmulated(qmp: Qmp): Promise<boolean> {
  const { enabled } = (await qmp.execute("query-kvm")) as { readonly enabled?: boolean };
  return enabled !== true;
}

function isComplete(seen: Awaited<ReturnType<typeof migration>>): boolean {
  if (seen.status === "failed" || seen.status === "cancelled")
    throw new QmpError(`memory could not be sent: ${seen["error-desc"] ?? seen.status}`);
  return seen.status === "completed";
}

/** Cancels each part of a migration that is under way. Afterwards the guest runs here. */
export async function cancelMigration(qmp: Qmp): Promise<void> {
  const { status } = await migration(qmp);
  if (status !== undefined && !settled.has(status)) {
    await qmp.execute("migrate_cancel");
    await until(async () => settled.has((await migration(qmp)).status ?? "none"));
  }
  const job = await mirrorJob(qmp);
  if (job !== undefined) {
    // The job may end by itself between the two commands.
    await qmp.execute("block-job-cancel", { device: MIRROR_JOB, force: true }).catch(() => undefined);
    await until(async () => (await mirrorJob(qmp))?.status === "concluded");
    await qmp.execute("job-dismiss", { id: MIRROR_JOB });
  }
  // Missing where the mirror had not been started.
  await qmp.execute("blockdev-del", { "node-name": TARGET_NODE }).catch(() => undefined);
  if ((await runState(qmp)) !== "running") await qmp.execute("cont");
}

/** Whether the target has the whole VM: then the guest is paused here, and resumes only after control has
 *  decided that it does not run there. */
export async function isSent(qmp: Qmp): Promise<boolean> {
  return (await runState(qmp)) === "postmigrate";
}

const settled: ReadonlySet<string> = new Set(["none", "completed", "failed", "cancelled"]);

/** The guest has stopped, so the copy is complete; it ends without taking the original's place. */
async function finishMirror(qmp: Qmp, signal: AbortSignal): Promise<void> {
  await qmp.execute("block-job-cancel", { device: MIRROR_JOB });
  for (;;) {
    const job = await mirrorJob(qmp);
    if (job?.status === "concluded") {
      await qmp.execute("job-dismiss", { id: MIRROR_JOB });
      if (job.error === undefined) return;
    }
    if (job === undefined || job.status === "concluded")
      throw new QmpError(`the disk could not be copied: ${job?.error ?? "no reason given"}`);
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Alike on both sides. With the pause there is a moment in which the guest has stopped and the disk's
 *  copy can be ended. */
async function setCapabilities(qmp: Qmp): Promise<void> {
  await qmp.execute("migrate-set-capabilities", {
    capabilities: [
      { capability: "x-ignore-shared", state: false },
      { capability: "pause-before-switchover", state: true },
      { capability: "auto-converge", state: true },
    ],
  });
}

interface Migration {
  readonly status?: string;
  readonly "error-desc"?: string;
  readonly ram?: RamProgress;
}

async function migration(qmp: Qmp): Promise<Migration> {
  return (await qmp.execute("query-migrate")) as Migration;
}

interface Job {
  readonly id?: string;
  readonly status?: string;
  readonly error?: string;
  readonly "current-progress"?: number;
}

async function mirrorJob(qmp: Qmp): Promise<Job | undefined> {
  return ((await qmp.execute("query-jobs")) as readonly Job[]).find(({ id }) => id === MIRROR_JOB);
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + STALL_MS;
  while (!(await condition())) {
    if (performance.now() > end) throw new QmpError("QEMU does not end what it was told to end");
    await sleep(POLL_MS);
  }
}

class Stall {
  #seen: number | undefined;
  #sinceMs = performance.now();

  check(bytes: number | undefined): void {
    if (bytes !== this.#seen) {
      this.#seen = bytes;
      this.#sinceMs = performance.now();
    } else if (performance.now() - this.#sinceMs > STALL_MS) {
      throw new QmpError("nothing has moved for too long");
    }
  }
}
