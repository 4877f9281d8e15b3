// Requests that end a VM or give its disk a new start, in every state of its entry. A request that has to wait
// for another one looks at the entry again afterwards.

import { checkUnused, inUse } from "../saved/pause-requests.ts";
import type { StopVm, Vm, VmSpec } from "@skerry/contract/host-api/vm";
import type { Adopter } from "../adoption/adopter.ts";
import { recoverRecord } from "../lifecycle/recover-record.ts";
import { diskUnreadable, endUnreadable } from "../lifecycle/unreadable.ts";
import type { VmLifecycle } from "../lifecycle/vm-lifecycle.ts";
import { onlyMachines, otherThere, type VmEntry, type VmTable } from "../lifecycle/vm-table.ts";
import type { HostResources } from "../record/vm-resources.ts";
import { mayBe, shown } from "../record/record.ts";
import { type RecordOwner } from "../record/read-records.ts";

export interface EndRequestsOptions {
  readonly resources: HostResources;
  readonly owner: RecordOwner;
  readonly table: VmTable;
  readonly lifecycle: VmLifecycle;
  readonly adopter: Adopter;
}

export class EndRequests {
  readonly #options: EndRequestsOptions;

  constructor(options: EndRequestsOptions) {
    this.#options = options;
  }

  /** Stops this incarnation of a machine with a grace period and keeps its disk. One that has ended by
   *  itself keeps its status. */
  async stop(id: string, { execution_id, grace_ms, ...unless }: StopVm): Promise<Vm> {
    const { table, lifecycle, adopter } = this.#options;
    const entry = onlyMachines(table.of(id, execution_id), "it cannot be stopped");
    switch (entry.state) {
      case "adopting":
        // When it was used last is not known here yet.
        if (unless.unused_ms !== undefined) throw inUse();
        await adopter.stopWithin(entry, grace_ms);
        return this.stop(id, { execution_id, grace_ms });
      case "creating":
      case "ending":
        await entry.done.catch(() => undefined);
        return this.stop(id, { execution_id, grace_ms });
      case "unreadable":
        throw diskUnreadable(entry.record);
      case "running":
        lifecycle.requireOpen();
        if (entry.ending === undefined) checkUnused(entry, unless);
        if (entry.ending === undefined) await lifecycle.stop(entry, grace_ms);
        else await entry.ending;
        return this.stop(id, { execution_id, grace_ms });
      case "ended":
        if (entry.pendingCleanup === undefined) return shown(entry.record);
        await lifecycle.end(entry.pendingCleanup.record, entry.pendingCleanup.end);
        return this.stop(id, { execution_id, grace_ms });
    }
  }

  /** Destroys this incarnation. Succeeds also where the VM is not there, or is another incarnation, which
   *  stays. */
  async destroy(id: string, executionId: string): Promise<void> {
    const { table, lifecycle, resources } = this.#options;
    const entry = table.find(id);
    // Where the incarnation is not known it counts as this one: control destroys a machine only when its
    // owner has asked for it.
    if (entry === undefined || !mayBe(entry.record, executionId)) return;
    switch (entry.state) {
      case "unreadable":
        return lifecycle.remove(entry, () => endUnreadable(resources, entry.record));
      case "adopting":
        entry.abort.abort();
        await entry.done;
        if (table.holds(entry)) return lifecycle.end(entry.record, undefined);
        return this.destroy(id, executionId);
      case "creating":
        entry.abort.abort();
        await entry.done.catch(() => undefined);
        // The creation has failed and its entry is gone, or it ended before the abort.
        return this.destroy(id, executionId);
      case "running":
        entry.live.qmp.close();
        entry.live.channel.close("the VM was destroyed");
        return lifecycle.end(entry.record, undefined);
      case "ending":
        await entry.done.catch(() => undefined);
        // The entry may be an ended machine now, or its cleanup may have failed.
        return this.destroy(id, executionId);
      case "ended":
        if (entry.pendingCleanup !== undefined) return lifecycle.end(entry.pendingCleanup.record, undefined);
        return lifecycle.remove(entry);
    }
  }

  /** One step on the way to a machine's next incarnation: waits for what is under way, releases what the one
   *  before still holds, and removes its disk where the next one starts with a new one. */
  async clear(entry: VmEntry, { disk }: NonNullable<VmSpec["machine"]>): Promise<void> {
    const { id, execution_id } = entry.record;
    switch (entry.state) {
      case "creating":
      case "adopting":
      case "running":
        throw otherThere();
      case "unreadable":
        if (disk !== "new") throw diskUnreadable(entry.record);
        return this.destroy(id, execution_id);
      case "ending":
        return entry.done.catch(() => undefined);
      case "ended":
        if (entry.pendingCleanup !== undefined)
          return this.#options.lifecycle.end(entry.pendingCleanup.record, entry.pendingCleanup.end);
        if (disk === "new") return this.destroy(id, execution_id);
    }
  }

  /** Writes a new record for a machine whose record is damaged; its next start boots from its disk. A second
   *  call changes nothing. */
  async recover(id: string): Promise<Vm> {
    const { table, lifecycle } = this.#options;
    const entry = onlyMachines(table.known(id), "it has nothing that could be recovered");
    if (entry.state === "ending") {
      await entry.done.catch(() => undefined);
      return this.recover(id);
    }
    if (entry.state === "unreadable")
      await lifecycle.hold(entry, async () => {
        const record = await recoverRecord(this.#options, entry.record);
        return { state: "ended", record };
      });
    return shown(table.known(id).record);
  }
}
