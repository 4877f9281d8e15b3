// VMs that are being created: each is an entry of the table from its first moment on, and one that fails leaves nothing behind.

import { SkerryError } from "@skerry/contract/errors";
import type { Vm } from "@skerry/contract/host-api/vm";
import { endOfHost, paused } from "../lifecycle/end-reason.ts";
import type { VmLifecycle } from "../lifecycle/vm-lifecycle.ts";
import type { VmTable } from "../lifecycle/vm-table.ts";
import { keepsDisk, saveRecord, shown, type VmRecord } from "../record/record.ts";
import { mainOf, type LiveVm } from "../start/clone.ts";
import { NewVm } from "./new-vm.ts";
import { forgetSecrets } from "../record/secrets-in-memory.ts";

export type Bring = (newVm: NewVm, signal: AbortSignal) => Promise<LiveVm>;

export class Creations {
  readonly #table: VmTable;
  readonly #lifecycle: VmLifecycle;

  constructor(table: VmTable, lifecycle: VmLifecycle) {
    this.#table = table;
    this.#lifecycle = lifecycle;
  }

  /** Adds a VM that `bring` creates. Resolves when it runs, or when `bring` acknowledges it. The resources
   *  that `newVm.record` names are released where it fails. */
  begin(record: VmRecord, bring: Bring): Promise<Vm> {
    const abort = new AbortController();
    const newVm = new NewVm(record);
    const done = this.#create(newVm, bring, abort.signal);
    done.catch(() => undefined); // each caller that awaits it gets the error
    this.#table.set({ state: "creating", record, abort, done });
    return Promise.race([done, newVm.acknowledged.then(() => shown(record))]);
  }

  async #create(newVm: NewVm, bring: Bring, signal: AbortSignal): Promise<Vm> {
    try {
      const live = await bring(newVm, signal);
      const waked = newVm.record;
      const { machine, waking: _over, ...made } = waked;
      const record: VmRecord = {
        ...made,
        ...{ status: "running", started_at: new Date().toISOString() },
        ...(machine === undefined ? {} : { machine: { ...machine, keeps_disk: true } }),
      };
      newVm.record = record;
      await saveRecord(record);
      await forgetSecrets(waked);
      const main = await mainOf(record, live);
      this.#lifecycle.watch(record, live, main, { isUnused: newVm.isUnused && main === undefined });
      return shown(record);
    } catch (error) {
      const { record, isAcknowledged } = newVm;
      await forgetSecrets(record);
      const reason = error instanceof Error ? error.message : "it could not be started";
      if (newVm.staysPaused) await this.#lifecycle.endNoisily(record, paused);
      else if (isAcknowledged && !signal.aborted) await this.#lifecycle.failAcknowledged(record, reason);
      else await this.#lifecycle.endNoisily(record, keepsDisk(record) ? endOfHost(reason) : undefined);
      if (signal.aborted)
        throw new SkerryError("canceled", "The VM was destroyed while it was being created.", {
          cause: error,
        });
      throw error;
    }
  }
}
