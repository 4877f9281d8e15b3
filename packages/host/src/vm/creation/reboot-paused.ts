// A paused sandbox that boots from its disk: what it had in memory is given up, and its files are those that it has synced.

import { removeSaved } from "../saved/saved-guest.ts";
import { saveRecord } from "../record.ts";
import { bootKept } from "../start/boot.ts";
import type { LiveVm } from "../start/clone.ts";
import { checkDiskReserve } from "../disk/disk-reserve.ts";
import type { CreationOptions } from "./creation.ts";
import { clearPaused, confirmPaused, type GoOnRequest } from "./from-saved.ts";
import type { NewVm } from "./new-vm.ts";
import { loadPolicy } from "./steps.ts";

/** Until it has booted it stays paused, and can be booted again. The caller never has its memory go on after that: its disk is another one then. */
export async function rebootPaused(
  { resources, library, vmsFolder }: CreationOptions,
  newVm: NewVm,
  { spec, size, origin }: GoOnRequest,
  signal: AbortSignal,
): Promise<LiveVm> {
  await checkDiskReserve(vmsFolder);
  await clearPaused(newVm);
  await confirmPaused(newVm, origin);
  signal.throwIfAborted();
  newVm.record = { ...newVm.record, below: origin.saved.below };
  const { record } = newVm;
  const parts = await library.forBoot(size);
  // A fresh kernel knows nothing of its template; a clone's agent does.
  const identity = { ...spec, ...library.defaultsOf(spec.template) };
  const live = await bootKept({ resources, parts, record, identity, size, signal }, async ({ process }) => {
    newVm.record = { ...record, process, memory_of: "own", started_with: parts.startedWith };
    await loadPolicy(resources, record);
  });
  try {
    await saveRecord({ ...newVm.record, status: "running" });
    newVm.staysPaused = false;
    await removeSaved(record.folder);
  } catch (error) {
    live.qmp.close();
    throw error;
  }
  return live;
}
