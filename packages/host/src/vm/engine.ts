// Every VM of this host, and the only place where one begins; caretaker.ts sees to those that run, and to the end of all. The folders under
// `vms/` are the truth on disk, the QEMU processes are the truth in the kernel; this class keeps the two together and survives being killed
// at any line.

import { join } from "node:path";
import type { EgressReport } from "@skerry/contract/egress";
import { SkerryError } from "@skerry/contract/errors";
import type { EgressChange, StopVm, Vm, VmSpec } from "@skerry/contract/host-api";
import { findSize } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import type { TemplateLibrary } from "../templates/library.ts";
import type { GuestChannel } from "../guest/channel.ts";
import { Adopter } from "./adopter.ts";
import { boundedWait } from "./bounded-wait.ts";
import { claimSlots, findVms, type Found, type Travellers } from "./adoption.ts";
import { Caretaker } from "./caretaker.ts";
import { mainOf, type LiveVm } from "./clone.ts";
import { bringUp, Draft, finishWaking, recordFor } from "./creation.ts";
import { endOfHost } from "./ending.ts";
import {
  Entries,
  letGo,
  onlyMachines,
  otherThere,
  type Adopting,
  type Entry,
  type Running,
} from "./entries.ts";
import type { MachineRoom } from "./instance.ts";
import { changePolicy, reportPolicy } from "./policy.ts";
import { vmPaths } from "./qemu.ts";
import {
  filesBelow,
  keepsDisk,
  readRecords,
  saveRecord,
  shown,
  type RecordOwner,
  type VmRecord,
} from "./record.ts";
import { Turns } from "./turns.ts";
import { diskGone, diskUnreadable, endUnreadable, recoverMachine } from "./unreadable.ts";
import type { WarmPool } from "./warm-pool.ts";

type Bring = (draft: Draft, signal: AbortSignal) => Promise<LiveVm>;

export interface GuestUse extends Disposable {
  readonly channel: GuestChannel;
}

export interface EngineOptions {
  readonly room: MachineRoom;
  readonly library: TemplateLibrary;
  readonly pool: WarmPool;
  readonly vmsFolder: string;
  readonly instance: string;
  readonly owner: RecordOwner;
  readonly log: Logger;
}

export class VmEngine {
  readonly #options: EngineOptions;
  readonly #entries = new Entries();
  /** Work on a running VM's slot: one at a time, and the VM is not given back while it is under way. */
  readonly #slotWork = new Turns();
  readonly #caretaker: Caretaker;
  readonly #adopter: Adopter;

  constructor(options: EngineOptions) {
    const { room, log } = options;
    const parts = { room, entries: this.#entries, slotWork: this.#slotWork, log };
    this.#options = options;
    this.#caretaker = new Caretaker(parts);
    this.#adopter = new Adopter({ ...parts, caretaker: this.#caretaker });
  }

  list(): Vm[] {
    return this.#entries.all.map((entry) => shown(entry.record));
  }

  get(id: string): Vm {
    return shown(this.#entries.known(id).record);
  }

  /** Where a machine's console is kept, also while it does not run. */
  consoleFile(id: string): string {
    const { record } = onlyMachines(this.#entries.known(id), "its console is not kept");
    return join(record.folder, vmPaths.console);
  }

  /** Changes whenever a VM has ended by itself, and with each start of the host. */
  get ended(): number {
    return this.#caretaker.ended;
  }

  /** Guest memory of all VMs that run or begin, MiB. */
  get memoryMib(): number {
    return this.#entries.memoryMib;
  }

  /** Somebody waits for a VM. */
  get isBusy(): boolean {
    return this.#entries.all.some(({ state }) => state === "creating");
  }

  /** The VM, made now unless this incarnation of it is there. Resolves once its agent has answered, or when a clone that waited was taken for
   *  it: then it is being woken, and whatever is asked of it waits for that. */
  async put(id: string, spec: VmSpec): Promise<Vm> {
    if (this.#options.room.slots.exhausted) await this.#options.pool.giveUp(1);
    const entry = this.#entries.find(id);
    if (entry === undefined) {
      if (spec.machine?.disk === "kept") throw diskGone();
      return this.#begin(id, spec, undefined);
    }
    if (entry.state !== "unreadable" && entry.record.execution_id === spec.execution_id)
      return entry.state === "creating"
        ? entry.done
        : shown((await this.usable(id, spec.execution_id)).record);
    if (spec.machine === undefined || !keepsDisk(entry.record)) throw otherThere();
    return this.#putAgain(entry, id, spec);
  }

  /** A VM that is there when `bring` has resolved; resolves then, or when it is promised. What the draft names is given back where it fails. */
  begin(record: VmRecord, bring: Bring): Promise<Vm> {
    const abort = new AbortController();
    const draft = new Draft(record);
    const done = this.#create(draft, bring, abort.signal);
    done.catch(() => undefined); // whoever waits for it hears of it
    this.#entries.set({ state: "creating", record, abort, done });
    return Promise.race([done, draft.promised.then(() => shown(record))]);
  }

  /** Any incarnation, in any state. */
  has(id: string): boolean {
    return this.#entries.find(id) !== undefined;
  }

  /** Remembers something more of a VM that runs. */
  change(ref: Pick<Vm, "id" | "execution_id">, work: (record: VmRecord) => VmRecord): Promise<void> {
    return this.#onSlot(ref.id, ref.execution_id, async (entry) => {
      const record = work(entry.record);
      await saveRecord(record);
      entry.record = record;
    });
  }

  /** The guest of this incarnation, awake until it is disposed of. */
  async use(id: string, executionId: string): Promise<GuestUse> {
    const { live, rest } = await this.usable(id, executionId);
    const use = await rest.use();
    return { channel: live.channel, [Symbol.dispose]: () => use[Symbol.dispose]() };
  }

  setEgress(id: string, change: EgressChange): Promise<EgressReport> {
    return this.#onSlot(id, change.execution_id, (vm) => changePolicy(this.#options.room, vm, change));
  }

  egress(id: string, executionId: string): Promise<EgressReport> {
    return this.#onSlot(id, executionId, (vm) => reportPolicy(this.#options.room, vm));
  }

  /** Ends this incarnation of a machine in peace and keeps its disk. One that has ended by itself stays what it is. */
  async stop(id: string, { execution_id, grace_ms }: StopVm): Promise<Vm> {
    const entry = onlyMachines(this.#entries.of(id, execution_id), "it cannot be stopped");
    switch (entry.state) {
      case "adopting":
        await this.#adopter.stopWithin(entry, grace_ms);
        return this.stop(id, { execution_id, grace_ms });
      case "creating":
      case "ending":
        await entry.done.catch(() => undefined);
        return this.stop(id, { execution_id, grace_ms });
      case "unreadable":
        throw diskUnreadable(entry.record);
      case "running":
        if (entry.ending === undefined) await this.#caretaker.stop(entry, grace_ms);
        else await entry.ending;
        return this.stop(id, { execution_id, grace_ms });
      case "ended":
        if (entry.owed === undefined) return shown(entry.record);
        await this.#caretaker.end(entry.owed.record, entry.owed.end);
        return this.stop(id, { execution_id, grace_ms });
    }
  }

  /** A machine's next incarnation. */
  async #putAgain(entry: Entry, id: string, spec: VmSpec): Promise<Vm> {
    switch (entry.state) {
      case "creating":
      case "adopting":
      case "running":
        throw otherThere();
      case "unreadable":
        if (spec.machine?.disk !== "new") throw diskUnreadable(entry.record);
        await this.destroy(id, entry.record.execution_id);
        return this.put(id, spec);
      case "ending":
        await entry.done.catch(() => undefined);
        return this.put(id, spec);
      case "ended":
        if (entry.owed !== undefined) {
          await this.#caretaker.end(entry.owed.record, entry.owed.end);
          return this.put(id, spec);
        }
        if (spec.machine?.disk !== "new") return this.#begin(id, spec, entry.record);
        await this.destroy(id, entry.record.execution_id);
        return this.put(id, spec);
    }
  }

  running(id: string, executionId: string): Running {
    return this.#entries.running(id, executionId);
  }

  /** Waits for one that is on its way. Why another one did not come, its entry says. */
  async usable(id: string, executionId: string): Promise<Running> {
    for (;;) {
      const entry = this.#entries.of(id, executionId);
      if (entry.state !== "creating" && entry.state !== "adopting") return this.running(id, executionId);
      await boundedWait(entry, entry.done);
      if (this.#entries.holds(entry)) throw letGo();
    }
  }

  /** Asked for anew when its turn comes: a slot of a VM that has ended belongs to nobody, or to another VM. */
  async #onSlot<T>(
    id: string,
    executionId: string,
    work: (entry: Running | Adopting) => Promise<T>,
  ): Promise<T> {
    const entry = this.#entries.of(id, executionId);
    // A policy is a matter of the slot's: a guest that does not answer must not keep its own policy from being changed.
    if (entry.state === "creating") await entry.done.catch(() => undefined);
    return this.#slotWork.take(id, () => work(this.#entries.governed(id, executionId)));
  }

  /** Destroys this incarnation. What is not there, or is another incarnation, is left as it is: both are success. */
  async destroy(id: string, executionId: string): Promise<void> {
    const entry = this.#entries.find(id);
    if (entry === undefined) return;
    // Which incarnation it is, is not known, and control asks for no machine's end that it does not mean.
    if (entry.state !== "unreadable" && entry.record.execution_id !== executionId) return;
    switch (entry.state) {
      case "unreadable":
        return this.#caretaker.remove(entry, () => endUnreadable(this.#options.room, entry.record));
      case "adopting":
        entry.abort.abort();
        await entry.done;
        if (this.#entries.holds(entry)) return this.#caretaker.end(entry.record, undefined);
        return this.destroy(id, executionId);
      case "creating":
        entry.abort.abort();
        await entry.done.catch(() => undefined);
        // It failed and is gone, or it was faster than the abort.
        return this.destroy(id, executionId);
      case "running":
        entry.live.qmp.close();
        entry.live.channel.close("the VM was destroyed");
        return this.#caretaker.end(entry.record, undefined);
      case "ending":
        await entry.done.catch(() => undefined);
        // It may have been kept, or what it had could not be given back.
        return this.destroy(id, executionId);
      case "ended":
        if (entry.owed !== undefined) return this.#caretaker.end(entry.owed.record, undefined);
        return this.#caretaker.remove(entry);
    }
  }

  /** Finds the VMs of an earlier host process. Those that run are adopted in the background, and what has ended is given back there. Call it
   *  once, first. */
  adopt(travellers: Travellers): Promise<Found> {
    const { room } = this.#options;
    const caretaker = this.#caretaker;
    return findVms(this.#options, {
      running: (record) =>
        this.#adopter.begin(record, (still, moveId) => travellers.handedOver(still, moveId)),
      waking: (record, waking) =>
        void this.begin(record, (draft, signal) => finishWaking(room, draft, waking, signal)),
      arrived: (record, size) => travellers.arrived(record, size),
      ended: (record) => this.#entries.set({ state: "ended", record }),
      unreadable: (record, isKept) => this.#entries.set({ state: "unreadable", record, isKept }),
      end: (record, end) => void caretaker.endUnasked(record, end),
    });
  }

  /** Takes the slots of the VMs that there are, and nothing else: for a host process that only builds templates. Resolves with how many there
   *  are. */
  async claimSlots(): Promise<number> {
    const { room, vmsFolder, owner } = this.#options;
    const slots = await claimSlots(this.#options, await readRecords(vmsFolder, owner));
    await room.slots.sweep();
    return slots.size;
  }

  /** Resolves when what a host process before this one left of it has been sorted out. */
  async adopted(id: string): Promise<void> {
    const entry = this.#entries.find(id);
    if (entry?.state === "adopting") await entry.done;
  }

  /** Files of templates that VMs stand on, also such as do not run; undefined where that is not known of all of them. */
  filesBelow(): Promise<Set<string> | undefined> {
    return filesBelow(this.#options.vmsFolder, this.#options.owner);
  }

  /** Writes a new record for a machine whose record is damaged; its next start boots from its disk. */
  recover(id: string): Promise<Vm> {
    return recoverMachine(this.#options, this.#entries, id);
  }

  /** Lets go of all VMs; they run on, and the next host process adopts them. */
  close(): void {
    this.#caretaker.close();
    for (const entry of this.#entries.all) {
      if (entry.state === "adopting") entry.abort.abort();
      if (entry.state !== "running") continue;
      entry.live.qmp.close();
      entry.live.channel.close("the host is stopping");
    }
  }

  #begin(id: string, spec: VmSpec, kept: VmRecord | undefined): Promise<Vm> {
    const size = findSize(spec.size);
    if (size === undefined) throw new SkerryError("unknown_size", `There is no size "${spec.size}".`);
    const warm = spec.machine === undefined ? this.#options.pool.take(spec.template, size) : undefined;
    const wish = { spec, size, warm, kept };
    const record = recordFor(this.#options, id, wish);
    return this.begin(record, (draft, signal) => bringUp(this.#options, draft, wish, signal));
  }

  async #create(draft: Draft, bring: Bring, signal: AbortSignal): Promise<Vm> {
    try {
      const live = await bring(draft, signal);
      const { machine, waking: _over, ...made } = draft.record;
      const record: VmRecord = {
        ...made,
        ...{ status: "running", started_at: new Date().toISOString() },
        ...(machine === undefined ? {} : { machine: { ...machine, keeps_disk: true } }),
      };
      draft.record = record;
      await saveRecord(record);
      const main = await mainOf(record, live);
      this.#caretaker.watch(record, live, main, { isUnused: draft.isUnused && main === undefined });
      return shown(record);
    } catch (error) {
      const { record, isPromised } = draft;
      const reason = error instanceof Error ? error.message : "it could not be started";
      if (isPromised && !signal.aborted) await this.#caretaker.breakPromise(record, reason);
      else await this.#caretaker.endNoisily(record, keepsDisk(record) ? endOfHost(reason) : undefined);
      if (signal.aborted)
        throw new SkerryError("canceled", "The VM was destroyed while it was being created.", {
          cause: error,
        });
      throw error;
    }
  }
}
