// Takes over VMs that an earlier host process started, each on its own and in the background: a guest may be hostile, a disk slow, a QEMU
// stopped, and none of that may hold up another VM, or the host. Calls for such a VM wait for it in `VmEngine.usable`.

import { addAbortListener } from "node:events";
import { join } from "node:path";
import type { Logger } from "pino";
import type { Caretaker } from "./caretaker.ts";
import { adoptClone, mainOf, type LiveVm } from "./clone.ts";
import { letGo as hostEnds, type Adopting, type Entries } from "./entries.ts";
import type { MachineRoom } from "./instance.ts";
import { callBack, wasHandedOver } from "./qemu-moves.ts";
import { vmPaths } from "./qemu.ts";
import { boundedWait } from "./bounded-wait.ts";
import { stopped } from "./ending.ts";
import { HUNG_AFTER_MS, Qmp } from "./qmp.ts";
import { saveRecord, type VmRecord } from "./record.ts";
import type { Turns } from "./turns.ts";

export interface AdopterOptions {
  readonly room: MachineRoom;
  readonly entries: Entries;
  /** Work on a VM's slot and record: one at a time. */
  readonly slotWork: Turns;
  readonly caretaker: Caretaker;
  readonly log: Logger;
}

type HandedOver = (record: VmRecord, moveId: string) => void;

/** All that a VM is asked until it is adopted: two answers that come as late as they may, and some that do not. */
const ADOPTED_WITHIN_MS = 2 * HUNG_AFTER_MS + 60_000;
/** Beside the grace of its main process. */
const STOP_PATIENCE_MS = 10_000;

export class Adopter {
  readonly #options: AdopterOptions;

  constructor(options: AdopterOptions) {
    this.#options = options;
  }

  /** Returns at once. `handedOver` is called for a VM that waits for control to say where it goes on. */
  begin(record: VmRecord, handedOver: HandedOver): void {
    const entry: Adopting = {
      state: "adopting",
      record,
      abort: new AbortController(),
      done: Promise.resolve(),
    };
    entry.done = this.#adopt(entry, handedOver);
    this.#options.entries.set(entry);
  }

  /** Waits until the VM is adopted, so that it can be stopped in peace; where its guest does not answer in this time it is stopped as by a power
   *  failure. Throws where this host process ends meanwhile. */
  async stopWithin(entry: Adopting, ms: number): Promise<void> {
    const { entries, caretaker } = this.#options;
    const isLate = await boundedWait(entry, entry.done, ms + STOP_PATIENCE_MS).then(
      () => false,
      () => true,
    );
    if (!entries.holds(entry)) return;
    if (!isLate) throw hostEnds();
    entry.abort.abort();
    await entry.done;
    if (entries.holds(entry)) await caretaker.endUnasked(entry.record, stopped);
  }

  /** Never rejects: what cannot go on has ended, with the reason. */
  async #adopt(entry: Adopting, handedOver: HandedOver): Promise<void> {
    const { caretaker, log } = this.#options;
    try {
      await this.#takeOver(entry, handedOver);
    } catch (error) {
      // The VM runs on: for the next host process, or to be destroyed by the call that has ended this.
      if (entry.abort.signal.aborted) return;
      const reason = error instanceof Error ? error.message : "the microVM does not answer";
      log.warn({ vm: entry.record.id, reason }, "a VM could not be adopted");
      await caretaker.lose(entry.record, reason);
    }
  }

  /** Gives each answer as long as QEMU is given anywhere, because what is slow is not dead. Rejects where the VM cannot go on. The next entry
   *  gets the record in the VM's turn: a change of policy that is under way ends in the record of the entry that it began with. */
  async #takeOver(entry: Adopting, handedOver: HandedOver): Promise<void> {
    const { room, slotWork, caretaker } = this.#options;
    const { id } = entry.record;
    // A guest may use up the time of each answer.
    const signal = AbortSignal.any([entry.abort.signal, AbortSignal.timeout(ADOPTED_WITHIN_MS)]);
    // What is in force was never taken away; this is for a change that was cut off, and for new addresses of the machine.
    const slot = room.slots.slot(entry.record.slot);
    await slotWork.take(id, () => room.egress.replace(slot, entry.record.egress));
    const { departure } = entry.record;
    if (departure !== undefined && (await isHandedOver(entry.record, signal))) {
      return slotWork.take(id, async () => {
        signal.throwIfAborted();
        handedOver(entry.record, departure.move_id);
      });
    }
    const live = await adoptClone(entry.record, { deadlineMs: HUNG_AFTER_MS, signal });
    using _listener = addAbortListener(signal, () => letGo(live));
    try {
      if (departure !== undefined) await slotWork.take(id, () => endDeparture(entry));
      const main = await mainOf(entry.record, live, HUNG_AFTER_MS);
      await slotWork.take(id, async () => {
        signal.throwIfAborted();
        caretaker.watch(entry.record, live, main);
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

/** It goes on here. */
async function endDeparture(entry: Adopting): Promise<void> {
  const { departure: _over, ...settled } = entry.record;
  await saveRecord(settled);
  entry.record = settled;
}

/** A departure that was cut off before its end is called back. */
async function isHandedOver({ folder }: VmRecord, signal: AbortSignal): Promise<boolean> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(HUNG_AFTER_MS)]);
  const qmp = await Qmp.connect(join(folder, vmPaths.qmp), deadline, HUNG_AFTER_MS);
  using _listener = addAbortListener(signal, () => qmp.close());
  try {
    if (await wasHandedOver(qmp)) return true;
    await callBack(qmp);
    return false;
  } finally {
    qmp.close();
  }
}
