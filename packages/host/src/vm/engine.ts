// Every VM of this host, and the only place where one begins; caretaker.ts sees to those that run, and to the end of all. The folders under
// `vms/` are the truth on disk, the QEMU processes are the truth in the kernel; this class keeps the two together and survives being killed
// at any line.

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { EgressReport } from "@skerry/contract/egress";
import { SkerryError } from "@skerry/contract/errors";
import type { EgressChange, StopVm, Vm, VmSpec } from "@skerry/contract/host-api";
import { findSize } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import type { TemplateLibrary } from "../templates/library.ts";
import type { GuestChannel } from "../guest/channel.ts";
import { adoptVms, type Adopted, type Travellers } from "./adoption.ts";
import { Caretaker } from "./caretaker.ts";
import { mainOf, type LiveVm } from "./clone.ts";
import { bringUp, Draft, finishWaking, recordFor } from "./creation.ts";
import { endOfHost } from "./ending.ts";
import { Entries, notRunning, onlyMachines, otherThere, type Entry, type Running } from "./entries.ts";
import type { MachineRoom } from "./instance.ts";
import { changePolicy, reportPolicy } from "./policy.ts";
import { vmPaths } from "./qemu.ts";
import { filesBelow, keepsDisk, saveRecord, shown, type VmRecord } from "./record.ts";
import { Turns } from "./turns.ts";
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
  readonly log: Logger;
}

export class VmEngine {
  readonly #options: EngineOptions;
  readonly #entries = new Entries();
  /** Work on a running VM's slot: one at a time, and the VM is not given back while it is under way. */
  readonly #slotWork = new Turns();
  readonly #caretaker: Caretaker;

  constructor(options: EngineOptions) {
    const { room, log } = options;
    this.#options = options;
    this.#caretaker = new Caretaker({ room, entries: this.#entries, slotWork: this.#slotWork, log });
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
    if (entry === undefined) return this.#begin(id, spec, undefined);
    if (entry.record.execution_id === spec.execution_id) {
      if (entry.state === "creating") return entry.done;
      if (entry.state === "running" && entry.ending === undefined) return shown(entry.record);
      throw notRunning(entry);
    }
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
      case "creating":
      case "ending":
        await entry.done.catch(() => undefined);
        return this.stop(id, { execution_id, grace_ms });
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
      case "running":
        throw otherThere();
      case "ending":
        await entry.done.catch(() => undefined);
        return this.put(id, spec);
      case "ended":
        if (entry.owed === undefined) return this.#begin(id, spec, entry.record);
        await this.#caretaker.end(entry.owed.record, entry.owed.end);
        return this.put(id, spec);
    }
  }

  running(id: string, executionId: string): Running {
    return this.#entries.running(id, executionId);
  }

  /** Waits for one that is on its way. Why another one did not come, its entry says. */
  async usable(id: string, executionId: string): Promise<Running> {
    const entry = this.#entries.of(id, executionId);
    if (entry.state === "creating") await entry.done.catch(() => undefined);
    return this.running(id, executionId);
  }

  /** Asked for anew when its turn comes: a slot of a VM that has ended belongs to nobody, or to another VM. */
  async #onSlot<T>(id: string, executionId: string, work: (entry: Running) => Promise<T>): Promise<T> {
    await this.usable(id, executionId);
    return this.#slotWork.take(id, () => work(this.running(id, executionId)));
  }

  /** Destroys this incarnation. What is not there, or is another incarnation, is left as it is: both are success. */
  async destroy(id: string, executionId: string): Promise<void> {
    const entry = this.#entries.find(id);
    if (entry === undefined || entry.record.execution_id !== executionId) return;
    switch (entry.state) {
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
        await rm(entry.record.folder, { recursive: true, force: true });
        this.#entries.delete(id);
    }
  }

  /** Finds the VMs of an earlier host process: adopts what answers, gives back what does not. Call it once, first. */
  adopt(travellers: Travellers): Promise<Adopted> {
    return adoptVms(this.#options, {
      travellers,
      running: (record, live, main) => this.#caretaker.watch(record, live, main),
      waking: (record, waking) =>
        void this.begin(record, (draft, signal) => finishWaking(this.#options.room, draft, waking, signal)),
      ended: (record) => this.#entries.set({ state: "ended", record }),
      end: (record, end) => this.#caretaker.endNoisily(record, end),
    });
  }

  /** Files of templates that VMs stand on, also such as do not run. */
  filesBelow(): Promise<Set<string>> {
    return filesBelow(this.#options.vmsFolder);
  }

  /** Lets go of all VMs; they run on, and the next host process adopts them. */
  close(): void {
    this.#caretaker.close();
    for (const entry of this.#entries.all) {
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
