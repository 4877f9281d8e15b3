// Requests that pause a sandbox. What it needs to go on is in its folder before anything of it is given back; until then it goes on where
// a step fails, and after that it is paused, however this host process ends.

import { SkerryError } from "@skerry/contract/errors";
import type { PauseVm } from "@skerry/contract/host-api/snapshots";
import type { Vm } from "@skerry/contract/host-api/vm";
import { runCommand } from "../../guest/agent.ts";
import { checkDiskReserve } from "../disk/disk-reserve.ts";
import type { KeyedQueue } from "../../system/keyed-queue.ts";
import { paused, type EndReason } from "../lifecycle/end-reason.ts";
import type { VmLifecycle } from "../lifecycle/vm-lifecycle.ts";
import { notRunning, type Running, type VmTable } from "../lifecycle/vm-table.ts";
import { saveRecord, shown } from "../record/record.ts";
import type { HostResources } from "../record/vm-resources.ts";
import { orDiskFull, saveGuest } from "./save-guest.ts";
import { removeSaved, savable, sealSaved } from "./saved-guest.ts";

export interface PauseRequestsOptions {
  readonly resources: HostResources;
  readonly table: VmTable;
  readonly lifecycle: VmLifecycle;
  readonly slotWork: KeyedQueue;
}

export class PauseRequests {
  readonly #options: PauseRequestsOptions;

  constructor(options: PauseRequestsOptions) {
    this.#options = options;
  }

  /** Of one that is paused already it answers the same. With `unusedMs` it throws `vm_in_use` where it was used within that time. */
  async pause(id: string, order: PauseVm): Promise<Vm> {
    const { table, lifecycle } = this.#options;
    const entry = table.of(id, order.execution_id);
    if (entry.record.machine !== undefined)
      throw new SkerryError("bad_request", "A machine is stopped and not paused.");
    switch (entry.state) {
      case "creating":
      case "adopting":
      case "ending":
        await entry.done.catch(() => undefined);
        return this.pause(id, order);
      case "unreadable":
        throw notRunning(entry);
      case "running":
        lifecycle.requireOpen();
        if (entry.ending === undefined) await this.#pauseRunning(entry, order);
        else await entry.ending.catch(() => undefined);
        return this.pause(id, order);
      case "ended":
        if (entry.record.status !== "paused") throw notRunning(entry);
        if (entry.pendingCleanup !== undefined) {
          await lifecycle.end(entry.pendingCleanup.record, entry.pendingCleanup.end);
          return this.pause(id, order);
        }
        return shown(entry.record);
    }
  }

  /** Rejects where the sandbox goes on. */
  async #pauseRunning(entry: Running, order: PauseVm): Promise<void> {
    const { table, lifecycle } = this.#options;
    checkUnused(entry, order);
    if (order.sync === true) {
      await syncDisk(entry).catch(async (error: unknown) => {
        throw await lifecycle.whyFailed(entry, error);
      });
      // The same order may have come twice, and who was here first may have paused it, or ended it, meanwhile.
      if (entry.ending !== undefined || !table.holds(entry)) return;
    }
    await lifecycle
      .endBy(entry, () => this.#save(entry, order))
      .catch(async (error: unknown) => {
        throw await lifecycle.whyFailed(entry, error);
      });
  }

  #save(entry: Running, order: PauseVm): Promise<EndReason> {
    const { resources, slotWork } = this.#options;
    return slotWork.take(entry.record.id, async () => {
      const record = savable(entry.record);
      const { folder } = record;
      await checkDiskReserve(folder);
      await removeSaved(folder);
      const standstill = await entry.guestHalt.standStill();
      try {
        // An operation that has come meanwhile waits for the guest to go on. Those that come from here on find it ending.
        checkUnused(entry, order);
        await saveGuest({ resources, record, qmp: entry.live.qmp, folder });
        await sealSaved(folder, record, false);
        // From here on the next host process would find it paused, and end its QEMU as one that no record knows.
        await saveRecord({ ...record, ...paused, process: undefined });
        return paused;
      } catch (error) {
        await saveRecord(entry.record).catch(() => undefined);
        await removeSaved(folder).catch(() => undefined);
        await standstill.goOn();
        return orDiskFull(error);
      }
    });
  }
}

const SYNC_DEADLINE_MS = 60_000;

/** A guest at rest is woken for it. Its programs run on meanwhile: what they write from here on is lost, as with a power failure. */
async function syncDisk({ live, guestHalt }: Running): Promise<void> {
  try {
    using _awake = await guestHalt.use();
    await runCommand(live.channel, "sync", SYNC_DEADLINE_MS);
  } catch (error) {
    throw new SkerryError("guest_failed", "The guest did not write its disk out.", {
      remediation: "Try again, or pause it with its memory. The guest needs the program `sync`.",
      cause: error,
    });
  }
}

export function checkUnused({ guestHalt }: Running, { unused_ms = 0 }: Pick<PauseVm, "unused_ms">): void {
  if (unused_ms === 0 || (guestHalt.unusedMs ?? 0) >= unused_ms) return;
  throw inUse();
}

export function inUse(): SkerryError {
  return new SkerryError("vm_in_use", "The VM is in use, or was a moment ago.");
}
