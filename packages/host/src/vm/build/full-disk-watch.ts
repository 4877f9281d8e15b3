// Where the disk of a host fills up, builds are refused first, then those that run are ended, and only at the reserve is any other VM refused: the
// disk that is full stops the VMs of everybody, and a build can be done again.

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { Logger } from "pino";
import { checkDiskReserve, KEPT_FREE_BYTES } from "../disk/disk-reserve.ts";
import type { EndReason } from "../lifecycle/end-reason.ts";
import type { VmRecord } from "../record/record.ts";
import { endOfFullDisk } from "../lifecycle/end-of-full-disk.ts";

const LOOK_EVERY_MS = 500;
/** What `stat` counts in. */
const SECTOR_BYTES = 512;

type BuildVm = Pick<VmRecord, "id" | "execution_id" | "folder">;

export interface FullDiskOptions {
  readonly engine: {
    readonly runningVms: { builds(): BuildVm[] };
    giveUp(vm: BuildVm, end: EndReason): Promise<void>;
  };
  readonly vmsFolder: string;
  readonly log: Logger;
}

/** Ends the builds that have written the most, one after the other, as long as the disk is too full. Resolves when it is told to stop. */
export async function watchFullDisk(options: FullDiskOptions, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await endLargestBuild(options).catch((error: unknown) =>
      options.log.warn(
        { err: error },
        "the free space of the disk is not known, so no build is ended for it",
      ),
    );
    await sleep(LOOK_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
  }
}

async function endLargestBuild({ engine, vmsFolder }: FullDiskOptions): Promise<void> {
  const builds = engine.runningVms.builds();
  if (builds.length === 0 || (await hasRoom(vmsFolder))) return;
  const sizes = await Promise.all(builds.map(async (vm) => ({ vm, bytes: await writtenBytes(vm) })));
  const [largest] = sizes.toSorted((one, other) => other.bytes - one.bytes);
  if (largest !== undefined) await engine.giveUp(largest.vm, endOfFullDisk);
}

/** Rejects where the disk cannot be asked: no build ends for that. */
async function hasRoom(folder: string): Promise<boolean> {
  try {
    await checkDiskReserve(folder, KEPT_FREE_BYTES);
    return true;
  } catch (error) {
    if (error instanceof SkerryError && error.code === "no_capacity") return false;
    throw error;
  }
}

/** Of all files in its folder: those that are gone meanwhile count nothing. */
async function writtenBytes({ folder }: BuildVm): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  const found = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => undefined)));
  return found.reduce((sum, file) => sum + (file?.blocks ?? 0) * SECTOR_BYTES, 0);
}
