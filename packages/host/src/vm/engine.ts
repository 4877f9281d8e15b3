// Every VM of this host, and the only place where one begins or ends. The folders under `vms/` are the truth on disk, the
// QEMU processes are the truth in the kernel; this class keeps the two together and survives being killed at any line.

import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { EgressReport } from "@skerry/contract/egress";
import { SkerryError } from "@skerry/contract/errors";
import type { EgressChange, Vm, VmSpec } from "@skerry/contract/host-api";
import { findSize } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import type { TemplateLibrary } from "../templates/library.ts";
import type { GuestChannel } from "../guest/channel.ts";
import { adoptVms, type Adopted } from "./adoption.ts";
import type { LiveVm } from "./clone.ts";
import { bringUp, recordFor, type Draft, type Wish } from "./creation.ts";
import { giveBack, makeFolder, type MachineRoom } from "./instance.ts";
import { endOf } from "./ending.ts";
import { saveRecord, shown, type VmRecord } from "./record.ts";
import { Rest } from "./rest.ts";
import { Turns } from "./turns.ts";
import type { WarmPool } from "./warm-pool.ts";

type Entry =
  | {
      readonly state: "creating";
      record: VmRecord;
      readonly abort: AbortController;
      readonly done: Promise<Vm>;
    }
  | Running
  | { readonly state: "ending"; readonly record: VmRecord; readonly done: Promise<void> }
  /** `owed`: what could not be given back yet; the next destroy tries again. */
  | { readonly state: "gone"; readonly record: VmRecord; readonly owed?: VmRecord };

interface Running {
  readonly state: "running";
  record: VmRecord;
  readonly live: LiveVm;
  readonly rest: Rest;
}

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

/** Between the ends of the two connections of a QEMU that ends. */
const LAST_WORD_MS = 1_000;

export class VmEngine {
  readonly #options: EngineOptions;
  readonly #entries = new Map<string, Entry>();
  /** Work on a running VM's slot: one at a time, and the VM is not given back while it is under way. */
  readonly #slotWork = new Turns();
  #closing = false;

  constructor(options: EngineOptions) {
    this.#options = options;
  }

  list(): Vm[] {
    return [...this.#entries.values()].map((entry) => shown(entry.record));
  }

  get(id: string): Vm {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new SkerryError("vm_not_found", "There is no such VM on this host.");
    return shown(entry.record);
  }

  /** Guest memory of all VMs that run or begin, MiB. */
  get memoryMib(): number {
    return [...this.#entries.values()]
      .filter(({ state }) => state !== "gone")
      .reduce((total, { record }) => total + (findSize(record.size)?.memory_mib ?? 0), 0);
  }

  /** Somebody waits for a VM. */
  get isBusy(): boolean {
    return [...this.#entries.values()].some(({ state }) => state === "creating");
  }

  /** The VM, made now unless this incarnation of it is there. Resolves once its agent has answered. */
  async put(id: string, spec: VmSpec): Promise<Vm> {
    if (this.#options.room.slots.exhausted) await this.#options.pool.giveUp(1);
    const entry = this.#entries.get(id);
    if (entry !== undefined && entry.record.execution_id === spec.execution_id) {
      if (entry.state === "creating") return entry.done;
      if (entry.state === "running") return shown(entry.record);
      throw new SkerryError("vm_not_running", entry.record.reason ?? "This VM is being destroyed.");
    }
    if (entry !== undefined) {
      throw new SkerryError("stale_execution", "Another incarnation of this VM is on this host.", {
        remediation: "Destroy that one first.",
      });
    }
    return this.#begin(id, spec);
  }

  /** The guest of this incarnation, awake until it is disposed of. */
  async use(id: string, executionId: string): Promise<GuestUse> {
    const { live, rest } = this.#running(id, executionId);
    const use = await rest.use();
    return { channel: live.channel, [Symbol.dispose]: () => use[Symbol.dispose]() };
  }

  /** Replaces the policy by a later one; in force when it resolves. The record is written first: a host that is killed in between loads the
   *  new policy when it adopts the VM, and until then the one before it stays in force. */
  setEgress(id: string, change: EgressChange): Promise<EgressReport> {
    const { slots, egress: rules } = this.#options.room;
    return this.#onSlot(id, change.execution_id, async (entry) => {
      const before = entry.record;
      const slot = slots.slot(before.slot);
      if (change.version <= before.egress_version) return rules.report(slot, before.egress);
      const after = { ...before, egress: change.egress, egress_version: change.version };
      await saveRecord(after);
      try {
        await rules.replace(slot, after.egress);
      } catch (error) {
        await saveRecord(before);
        throw error;
      }
      entry.record = after;
      return rules.report(slot, after.egress);
    });
  }

  egress(id: string, executionId: string): Promise<EgressReport> {
    const { slots, egress: rules } = this.#options.room;
    return this.#onSlot(id, executionId, ({ record }) =>
      rules.report(slots.slot(record.slot), record.egress),
    );
  }

  #running(id: string, executionId: string): Running {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new SkerryError("vm_not_found", "There is no such VM on this host.");
    if (entry.record.execution_id !== executionId) {
      throw new SkerryError("stale_execution", "That incarnation of the VM is not on this host.");
    }
    if (entry.state !== "running") {
      throw new SkerryError("vm_not_running", entry.record.reason ?? `The VM is ${entry.state}.`);
    }
    return entry;
  }

  /** Asked for anew when its turn comes: a slot of a VM that has ended belongs to nobody, or to another VM. */
  #onSlot<T>(id: string, executionId: string, work: (entry: Running) => Promise<T>): Promise<T> {
    return this.#slotWork.take(id, () => work(this.#running(id, executionId)));
  }

  /** Destroys this incarnation. What is not there, or is another incarnation, is left as it is: both are success. */
  async destroy(id: string, executionId: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.record.execution_id !== executionId) return;
    switch (entry.state) {
      case "creating":
        entry.abort.abort();
        await entry.done.catch(() => undefined);
        // It failed and is gone, or it was faster than the abort.
        return this.destroy(id, executionId);
      case "running":
        entry.live.qmp.close();
        entry.live.channel.close("the sandbox was destroyed");
        return this.#end(entry.record, undefined);
      case "ending":
        return entry.done;
      case "gone":
        if (entry.owed !== undefined) return this.#end(entry.owed, undefined);
        await rm(entry.record.folder, { recursive: true, force: true });
        this.#entries.delete(id);
    }
  }

  /** Finds the VMs of an earlier host process: adopts what answers, gives back what does not. Call it once, first. */
  adopt(): Promise<Adopted> {
    return adoptVms(this.#options, {
      running: (record, live) => this.#run(record, live),
      gone: (record) => void this.#entries.set(record.id, { state: "gone", record }),
      end: (record, reason) =>
        this.#end(record, reason).catch((failure: unknown) => this.#logOwed(record, failure)),
    });
  }

  /** Lets go of all VMs; they run on, and the next host process adopts them. */
  close(): void {
    this.#closing = true;
    for (const entry of this.#entries.values()) {
      if (entry.state !== "running") continue;
      entry.live.qmp.close();
      entry.live.channel.close("the host is stopping");
    }
  }

  #begin(id: string, spec: VmSpec): Promise<Vm> {
    const size = findSize(spec.size);
    if (size === undefined) throw new SkerryError("unknown_size", `There is no size "${spec.size}".`);
    const wish = { spec, size, warm: this.#options.pool.take(spec.template, size) };
    const record = recordFor(this.#options, id, wish);
    const abort = new AbortController();
    const done = this.#create(record, wish, abort.signal);
    done.catch(() => undefined); // whoever waits for it hears of it
    this.#entries.set(id, { state: "creating", record, abort, done });
    return done;
  }

  async #create(begun: VmRecord, wish: Wish, signal: AbortSignal): Promise<Vm> {
    const draft: Draft = { record: begun };
    try {
      const live = await bringUp(this.#options, draft, wish, signal);
      const record = { ...draft.record, status: "running", started_at: new Date().toISOString() } as const;
      draft.record = record;
      await saveRecord(record);
      this.#run(record, live);
      return shown(record);
    } catch (error) {
      const { record } = draft;
      await this.#end(record, undefined).catch((failure: unknown) => this.#logOwed(record, failure));
      if (signal.aborted)
        throw new SkerryError("canceled", "The VM was destroyed while it was being created.", {
          cause: error,
        });
      throw error;
    }
  }

  /** From here on the VM is watched: when QEMU or the agent's channel ends, the VM has. */
  #run(record: VmRecord, live: LiveVm): void {
    const rest = new Rest(live, this.#options.log);
    this.#entries.set(record.id, { state: "running", record, live, rest });
    const ended = (reason: string): void => {
      const entry = this.#entries.get(record.id);
      if (this.#closing || entry?.state !== "running" || entry.live !== live) return;
      live.qmp.close();
      live.channel.close(reason);
      this.#options.log.warn({ vm: record.id, reason }, "a VM ended by itself");
      this.#end(entry.record, reason).catch((failure: unknown) => this.#logOwed(record, failure));
    };
    void live.qmp.closed.then(() => ended(endOf(live.qmp.shutdownReason)));
    void live.channel.closed.then(async (closed) => {
      // A QEMU that ends closes both connections, in either order, and its own word is the better reason.
      if (closed.hungUp)
        await Promise.race([live.qmp.closed, sleep(LAST_WORD_MS, undefined, { ref: false })]);
      ended(closed.message);
    });
  }

  /** Gives everything back. With a reason the VM is remembered as gone until control has asked for its removal; what cannot be
   *  given back now is remembered too, and tried again then. */
  #end(record: VmRecord, reason: string | undefined): Promise<void> {
    const done = this.#finish(record, reason).catch((error: unknown) => {
      const remembered = { ...record, status: "gone", reason: reason ?? "its cleanup failed" } as const;
      this.#entries.set(record.id, { state: "gone", record: remembered, owed: record });
      throw error;
    });
    this.#entries.set(record.id, { state: "ending", record, done });
    return done;
  }

  async #finish(record: VmRecord, reason: string | undefined): Promise<void> {
    await this.#slotWork.settled(record.id);
    await giveBack(this.#options.room, record);
    if (reason === undefined) {
      this.#entries.delete(record.id);
      return;
    }
    const gone: VmRecord = { ...record, status: "gone", reason, process: undefined };
    await makeFolder(gone.folder);
    await saveRecord(gone);
    this.#entries.set(record.id, { state: "gone", record: gone });
  }

  #logOwed(record: VmRecord, failure: unknown): void {
    this.#options.log.error({ err: failure, vm: record.id }, "a VM could not be cleaned up yet");
  }
}
