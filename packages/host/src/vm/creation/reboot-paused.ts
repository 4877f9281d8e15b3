// A paused sandbox that boots from its disk: what it had in memory is given up, and its files are those that it has synced.

import { removeSaved } from "../saved/saved-guest.ts";
import { saveRecord } from "../record/record.ts";
import type { LiveVm } from "../start/clone.ts";
import { checkDiskReserve } from "../disk/disk-reserve.ts";
import type { CreationOptions } from "./creation-request.ts";
import { bootDisk } from "./boot-disk.ts";
import { clearPaused, confirmPaused, type GoOnRequest } from "./from-saved.ts";
import type { NewVm } from "./new-vm.ts";
import { loadPolicy } from "./steps.ts";

/** Until it has booted it stays paused, and can be booted again. The caller never has its memory go on after that: its disk is another one then. */
export async function rebootPaused(
  options: CreationOptions,
  newVm: NewVm,
  { spec, size, origin }: GoOnRequest,
  signal: AbortSignal,
): Promise<LiveVm> {
  await checkDiskReserve(options.vmsFolder);
  await clearPaused(newVm);
  await confirmPaused(newVm, origin);
  signal.throwIfAborted();
  newVm.record = { ...newVm.record, below: origin.saved.below };
  const { record } = newVm;
  const meanwhile = (): Promise<void> => loadPolicy(options.resources, record);
  const live = await bootDisk(options, newVm, { spec, size }, { signal, meanwhile });
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
