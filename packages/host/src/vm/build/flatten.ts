// What a build has written over many layers becomes one layer over the lowest alone. Templates are built on templates without an end, and each
// layer costs every read of a disk a look. QEMU does it, of the files that it has open, while its guest goes on: no program of ours reads what a
// tenant's QEMU has written.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { DiskLayer } from "@skerry/contract/host-api/templates";
import { checkDiskReserve, KEPT_FREE_BYTES } from "../disk/disk-reserve.ts";
import { LOWEST_NODE } from "../qemu/qemu-arguments.ts";
import { QmpError, type Qmp } from "../qemu/qmp.ts";

/** Layers of an image. A seal that would make more of them leaves two. */
export const DEPTH_MAX = 8;

const JOB = "flatten";
const LOOK_EVERY_MS = 200;

export interface FlattenOptions {
  /** The guest writes to it. */
  readonly node: string;
  /** Of the VM. */
  readonly folder: string;
  /** All of the image that it lies over, the lowest first. */
  readonly layers: readonly DiskLayer[];
  /** As `performance.now` counts. */
  readonly endMs: number;
}

type Asked = Pick<Qmp, "execute">;

/**
 * Can be repeated, also where the host process has died in the middle of it. Throws `no_capacity` where the host's disk has no room for it, `disk_full`
 * where the result is larger than its image may be, and `guest_timeout`.
 */
export async function flatten(qmp: Asked, { node, folder, layers, endMs }: FlattenOptions): Promise<void> {
  const left = await jobOf(qmp);
  if (left?.status === "concluded") await dismiss(qmp);
  if (left === undefined || left.status === "concluded") {
    const copiedBytes = layers.slice(1).reduce((sum, { bytes }) => sum + bytes, 0);
    // Once here, and once when it is sealed. It must not make the disk so full that builds are ended for it.
    await checkDiskReserve(folder, 2 * copiedBytes + KEPT_FREE_BYTES);
    await qmp.execute("block-stream", {
      ...{ "job-id": JOB, device: node, "base-node": LOWEST_NODE, "auto-dismiss": false },
      // The name of the file below that QEMU would write into the layer.
      "backing-file": "",
    });
  }
  try {
    await concluded(qmp, folder, endMs);
  } catch (error) {
    await qmp.execute("block-job-cancel", { device: JOB, force: true }).catch(() => undefined);
    throw error;
  }
}

async function concluded(qmp: Asked, folder: string, endMs: number): Promise<void> {
  for (;;) {
    const job = await jobOf(qmp);
    if (job === undefined) throw new QmpError("the layers could not be put together: no reason given");
    if (job.status === "concluded") {
      await dismiss(qmp);
      if (job.error !== undefined) throw failed(job.error);
      return;
    }
    if (performance.now() > endMs)
      throw new SkerryError(
        "guest_timeout",
        "The layers of the template could not be put together in time.",
        {
          remediation: "Try again when less is going on on the host.",
        },
      );
    await checkDiskReserve(folder);
    await sleep(LOOK_EVERY_MS);
  }
}

/** QEMU has the system's words. */
function failed(error: string): Error {
  if (error !== "File too large") return new QmpError(`the layers could not be put together: ${error}`);
  return new SkerryError("disk_full", "The target holds more than its image may.", {
    remediation: "Give the build a larger disk.",
  });
}

interface Job {
  readonly id: string;
  readonly status: string;
  readonly error?: string;
}

async function jobOf(qmp: Asked): Promise<Job | undefined> {
  return ((await qmp.execute("query-jobs")) as readonly Job[]).find(({ id }) => id === JOB);
}

async function dismiss(qmp: Asked): Promise<void> {
  await qmp.execute("job-dismiss", { id: JOB });
}
