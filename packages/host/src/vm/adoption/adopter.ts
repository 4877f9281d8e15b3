// Adopts VMs that an earlier host process started, each on its own and in the background: a hostile guest, a
// slow disk or a stopped QEMU must not delay another VM or the host. Calls for such a VM wait for it in
// `VmEngine.usable`.

import { addAbortListener } from "node:events";
import { join } from "node:path";
import type { Logger } from "pino";
import { boundedWait } from "../lifecycle/bounded-wait.ts";
import { stopped } from "../lifecycle/end-reason.ts";
import type { VmLifecycle } from "../lifecycle/vm-lifecycle.ts";
import { adoptClone, mainOf, type LiveVm } from "../start/clone.ts";
import { hostIsEnding, type Adopting, type VmTable } from "../lifecycle/vm-table.ts";
import { limitUse, type HostResources } from "../record/vm-resources.ts";
import { cancelMigration, isSent } from "../qemu/migration.ts";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import { HUNG_AFTER_MS, Qmp } from "../qemu/qmp.ts";
import { saveRecord, type VmRecord } from "../record/record.ts";
import { removeSaved } from "../saved/saved-guest.ts";
import type { KeyedQueue } from "../../system/keyed-queue.ts";

export interface AdopterOptions {
  readonly resources: HostResources;
  readonly table: VmTable;
  /** Work on a VM's slot and record: one at a time. */
  readonly slotWork: KeyedQueue;
  readonly lifecycle: VmLifecycle;
  readonly log: Logger;
}

type Sent = (record: VmRecord, moveId: string) => void;

/** The whole adoption of one VM: two answers that take the longest they may, and some that are quick. */
const ADOPTED_WITHIN_MS = 2 * HUNG_AFTER_MS + 60_000;
/** Added to the grace period of the main process. */
const STOP_PATIENCE_MS = 10_000;

export class Adopter {
  readonly #options: AdopterOptions;

  constructor(options: AdopterOptions) {
    this.#options = options;
  }

  /** Returns at once. `sent` is called for a VM that waits for control to decide which host runs it. */
  begin(record: VmRecord, sent: Sent): void {
    const entry: Adopting = {
      state: "adopting",
      record,
      abort: new AbortController(),
      done: Promise.resolve(),
    };
    entry.done = this.#adopt(entry, sent);
    this.#options.table.set(entry);
  }

  /** Waits until the VM is adopted, so that it can be stopped with a grace period. Where its guest does not
   *  answer in this time, its QEMU is killed. Throws where this host process ends meanwhile. */
  async stopWithin(entry: Adopting, ms: number): Promise<void> {
    const { table, lifecycle } = this.#options;
    const isLate = await boundedWait(entry, entry.done, ms + STOP_PATIENCE_MS).then(
      () => false,
      () => true,
    );
    if (!table.holds(entry)) return;
    if (!isLate) throw hostIsEnding();
    entry.abort.abort();
    await entry.done;
    if (table.holds(entry)) await lifecycle.endUnasked(entry.record, stopped);
  }

  /** Never rejects: a VM that cannot be adopted is ended, with the reason. */
  async #adopt(entry: Adopting, sent: Sent): Promise<void> {
    const { lifecycle, log } = this.#options;
    try {
      await this.#takeOver(entry, sent);
    } catch (error) {
      // The VM runs on: the next host process adopts it, or the call that aborted this destroys it.
      if (entry.abort.signal.aborted) return;
      const reason = error instanceof Error ? error.message : "the microVM does not answer";
      log.warn({ vm: entry.record.id, reason }, "a VM could not be adopted");
      await lifecycle.lose(entry.record, reason);
    }
  }

  /** Waits for each answer as long as `HUNG_AFTER_MS`, because a slow QEMU is not a dead one. Rejects
   *  where the VM cannot be adopted. The next entry takes the record within the VM's queue, because a change
   *  of policy that is under way writes to the record of the entry that it began with. */
  async #takeOver(entry: Adopting, sent: Sent): Promise<void> {
    const { resources, slotWork, lifecycle, log } = this.#options;
    const { id } = entry.record;
    // A hostile guest may delay each answer as long as it can.
    const signal = AbortSignal.any([entry.abort.signal, AbortSignal.timeout(ADOPTED_WITHIN_MS)]);
    // The policy stayed in force all the time. It is loaded again for a change that was interrupted, and for
    // new addresses of the machine.
    const slot = resources.slots.slot(entry.record.slot);
    await slotWork.take(id, () => resources.egress.adopt(slot, entry.record.egress));
    const { departure } = entry.record;
    if (departure !== undefined && (await wasSent(entry.record, signal))) {
      return slotWork.take(id, async () => {
        signal.throwIfAborted();
        sent(entry.record, departure.move_id);
      });
    }
    const live = await adoptClone(entry.record, { deadlineMs: HUNG_AFTER_MS, signal });
    using _listener = addAbortListener(signal, () => letGo(live));
    try {
      if (departure !== undefined) await slotWork.take(id, () => endDeparture(resources, entry));
      const main = await mainOf(entry.record, live, HUNG_AFTER_MS);
      await slotWork.take(id, async () => {
        // It answers, so what it may have gone on from a moment ago is not needed any more.
        if (entry.record.machine === undefined)
          await removeSaved(entry.record.folder).catch((error: unknown) =>
            log.warn({ err: error, vm: id }, "what a VM has gone on from could not be removed"),
          );
        signal.throwIfAborted();
        lifecycle.watch(entry.record, live, main);
      });
    } catch (error) {
      letGo(live);
      throw error;
    }
  }
}

function letGo({ qmp, channel }: LiveVm): void {
  qmp.close();
  channel.close("it could not be adopted");
}

/** Notes in the record that the VM stays on this host. */
async function endDeparture(resources: HostResources, entry: Adopting): Promise<void> {
  await limitUse(resources, entry.record, "runs");
  const { departure: _over, ...settled } = entry.record;
  await saveRecord(settled);
  entry.record = settled;
}

/** Tells whether the target has the whole VM. An interrupted departure is cancelled, and the guest runs
 *  here again. */
async function wasSent({ folder }: VmRecord, signal: AbortSignal): Promise<boolean> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(HUNG_AFTER_MS)]);
  const qmp = await Qmp.connect(join(folder, vmPaths.qmp), deadline, HUNG_AFTER_MS);
  using _listener = addAbortListener(signal, () => qmp.close());
  try {
    if (await isSent(qmp)) return true;
    await cancelMigration(qmp);
    return false;
  } finally {
    qmp.close();
  }
}
