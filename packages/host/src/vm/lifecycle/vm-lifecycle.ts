// The life of a VM from the moment it runs: watches it, stops it, and releases its resources when it has
// ended.

import { rm } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Logger } from "pino";
import type { MainProcess } from "../../guest/agent.ts";
import type { LiveVm } from "../start/clone.ts";
import { endOfHost, paused, stopped, type EndReason } from "./end-reason.ts";
import { hostIsEnding, notRunning, type VmEntry, type VmTable, type Running } from "./vm-table.ts";
import { releaseResources, type HostResources } from "../record/vm-resources.ts";
import { keepsDisk, saveRecord, withoutInjection, type VmRecord } from "../record/record.ts";
import { forgetInjection, forgetSecrets } from "../record/secrets-in-memory.ts";
import { keepTime } from "./guest-clock.ts";
import { GuestHalt } from "./guest-halt.ts";
import { endGuest } from "./stop-guest.ts";
import type { KeyedQueue } from "../../system/keyed-queue.ts";
import { waitForEnd } from "./wait-for-end.ts";

export interface VmLifecycleOptions {
  readonly resources: HostResources;
  readonly table: VmTable;
  /** The resources of a VM are not released while such work is under way. */
  readonly slotWork: KeyedQueue;
  /** Ends its QEMU, and says whether the VM is paused as before: it had not gone on yet from what was saved
   *  of it. */
  readonly isAsSaved: (record: VmRecord) => Promise<boolean>;
  readonly log: Logger;
}

export class VmLifecycle {
  readonly #options: VmLifecycleOptions;
  #closing = false;
  #ended = Math.floor(Date.now() / 1_000);

  constructor(options: VmLifecycleOptions) {
    this.#options = options;
  }

  /** Changes whenever a VM has ended by itself, and with each start of the host. */
  get ended(): number {
    return this.#ended;
  }

  /** This host process is ending: it has let go of all VMs, which run on. */
  get isClosing(): boolean {
    return this.#closing;
  }

  /** Throws where this host process is ending. A request that waited for the end of a VM would wait for the
   *  next process. */
  requireOpen(): void {
    if (this.#closing) throw hostIsEnding();
  }

  /** Watches the VM from here on. An unused VM is paused at once while others are still being created: a
   *  hundred idle ones take more than half a core (emulated), and after seconds write the changes of their
   *  host names to their disks. */
  watch(record: VmRecord, live: LiveVm, main: MainProcess | undefined, { isUnused = false } = {}): void {
    const { table, log } = this.#options;
    const atOnce =
      isUnused && table.all.some(({ state, record: { id } }) => state === "creating" && id !== record.id);
    const guestHalt = new GuestHalt(live, log, { atOnce });
    const ended = Promise.withResolvers<void>();
    const running = { state: "running" as const, record, live, main, ended: ended.promise };
    const entry: Running = { ...running, guestHalt };
    table.set(entry);
    keepTime(live.channel, guestHalt, log);
    void waitForEnd(record, live, main)
      .then((end) => this.#endedByItself(entry, end))
      .then(ended.resolve);
  }

  /** An end that comes while a pause is under way waits for it: a pause that then fails has ended nothing, and
   *  no other event tells of this end. */
  async #endedByItself(entry: Running, end: EndReason): Promise<void> {
    const { table, log } = this.#options;
    for (let under = entry.ending; under !== undefined; under = entry.ending) {
      await under;
      if (entry.ending === under) return;
    }
    if (this.#closing || !table.holds(entry)) return;
    log.warn({ vm: entry.record.id, reason: end.reason }, "a VM ended by itself");
    // A guest whose main process has ended still runs, and has data to write to its disk.
    const finished = this.#finishRunning(entry, entry.record.machine?.stopping === true ? stopped : end, 0);
    // Counted only once the VM is listed as ended: control reads the list once for each count.
    entry.ending = finished.then(() => void (this.#ended += 1));
    await entry.ending;
  }

  /** Ends a VM by `work`, which resolves with its end. Other requests for its end wait meanwhile. Where the work
   *  fails the VM goes on. */
  endBy(entry: Running, work: () => Promise<EndReason>): Promise<void> {
    const done = this.#endBy(entry, work);
    // Settles after the entry says again that it runs.
    entry.ending = done.catch(() => undefined);
    return done;
  }

  async #endBy(entry: Running, work: () => Promise<EndReason>): Promise<void> {
    let end: EndReason;
    try {
      end = await work();
    } catch (error) {
      delete entry.ending;
      throw error;
    }
    if (!this.#options.table.holds(entry)) return;
    entry.live.qmp.close();
    entry.live.channel.close(`the VM is ${end.status}`);
    await this.end(entry.record, end);
  }

  /** The error to tell of work on a running VM that has failed with `error`. A VM that has ended meanwhile is told as
   *  that, with the reason, once it is listed as ended. */
  async whyFailed(entry: Running, error: unknown): Promise<unknown> {
    const isOver = entry.live.qmp.closed.then(() => true);
    if (!(await Promise.race([isOver, nextTurn(false)]))) return error;
    await entry.ended;
    // This process has let go of the VM, which runs on.
    if (this.#closing) return hostIsEnding();
    return notRunning(this.#options.table.find(entry.record.id) ?? entry);
  }

  /** Ends a VM that could go on, where the host needs what it takes. */
  giveUp(entry: Running, end: EndReason): Promise<void> {
    this.#options.log.warn({ vm: entry.record.id, reason: end.reason }, "a VM is given up");
    // Who uses it is told why from now on.
    entry.record = { ...entry.record, reason: end.reason };
    const finished = this.#finishRunning(entry, end, 0);
    entry.ending = finished.then(() => void (this.#ended += 1));
    return entry.ending;
  }

  /** Stops a machine with a grace period. */
  async stop(entry: Running, graceMs: number): Promise<void> {
    const { table, slotWork, log } = this.#options;
    entry.ending = slotWork
      .take(entry.record.id, async () => {
        const { machine } = entry.record;
        if (machine === undefined || !table.holds(entry)) return;
        entry.record = { ...entry.record, machine: { ...machine, stopping: true } };
        await saveRecord(entry.record);
      })
      .catch((error: unknown) => log.warn({ err: error }, "a stop could not be noted down"))
      .then(() => this.#finishRunning(entry, stopped, graceMs));
    await entry.ending;
  }

  /** Ends a VM whose creation failed after it was acknowledged: control believes it to be there. */
  async failAcknowledged(record: VmRecord, reason: string): Promise<void> {
    this.#options.log.warn({ vm: record.id, reason }, "a VM that was promised could not be woken");
    await this.lose(record, reason);
  }

  /** Ends a VM that the host cannot run any longer. One that was told to stop ends as stopped, also where
   *  it failed, and one that had not gone on yet from what was saved of it is paused. */
  async lose(record: VmRecord, reason: string): Promise<void> {
    const isPaused = await this.#options.isAsSaved(record).catch(() => false);
    const otherwise = record.machine?.stopping === true ? stopped : endOfHost(reason);
    await this.endUnasked(record, isPaused ? paused : otherwise);
  }

  /** Ends a VM that control believes to be there, and raises `ended` so that control reads the list. Never
   *  rejects. */
  async endUnasked(record: VmRecord, end: EndReason | undefined): Promise<void> {
    await this.endNoisily(record, end);
    this.#ended += 1;
  }

  /** Releases all resources. With an end the VM stays listed until control destroys it; a cleanup that
   *  fails is kept as pending, and tried again then. */
  end(record: VmRecord, end: EndReason | undefined): Promise<void> {
    const { table } = this.#options;
    const done = this.#finish(record, end).catch((error: unknown) => {
      const remembered = { ...record, ...(end ?? endOfHost("its cleanup failed")) };
      table.set({ state: "ended", record: remembered, pendingCleanup: { record, end } });
      throw error;
    });
    table.set({ state: "ending", record, done });
    return done;
  }

  /** Removes the files of a VM that does not run. */
  remove(entry: VmEntry, before = (): Promise<void> => Promise.resolve()): Promise<void> {
    return this.hold(entry, async () => {
      await before();
      await rm(entry.record.folder, { recursive: true, force: true });
      return undefined;
    });
  }

  /** Works on the files of a VM that does not run, which may take long. Its entry says so meanwhile: another
   *  request for its end, its disk or its recovery waits, instead of undoing what this one has begun. The work
   *  resolves with the entry that follows, undefined where the VM is gone; where it fails, the entry stays. */
  hold(entry: VmEntry, work: () => Promise<VmEntry | undefined>): Promise<void> {
    const done = this.#replace(entry, work);
    this.#options.table.set({ state: "ending", record: entry.record, done });
    return done;
  }

  async #replace(entry: VmEntry, work: () => Promise<VmEntry | undefined>): Promise<void> {
    const { table } = this.#options;
    try {
      const after = await work();
      if (after === undefined) table.delete(entry.record.id);
      else table.set(after);
    } catch (error) {
      table.set(entry);
      throw error;
    }
  }

  async endNoisily(record: VmRecord, end: EndReason | undefined): Promise<void> {
    await this.end(record, end).catch((failure: unknown) => {
      this.#options.log.error({ err: failure, vm: record.id }, "a VM could not be cleaned up yet");
    });
  }

  /** From now on the ends of VMs are left to the next host process. */
  close(): void {
    this.#closing = true;
  }

  /** Never rejects: a cleanup that fails stays pending. */
  async #finishRunning(entry: Running, end: EndReason, graceMs: number): Promise<void> {
    const { table, log } = this.#options;
    const { live } = entry;
    const exit = await endGuest(entry, graceMs, log);
    if (!table.holds(entry) || this.#closing) return;
    live.qmp.close();
    live.channel.close(end.reason ?? "the machine was stopped");
    await this.endNoisily(entry.record, { ...(exit ? { exit } : {}), ...end });
  }

  async #finish({ waking, ...record }: VmRecord, end: EndReason | undefined): Promise<void> {
    const { resources, table, slotWork } = this.#options;
    await slotWork.settled(record.id);
    await countLast(resources, record);
    await forgetInjection(record);
    if (waking !== undefined) await forgetSecrets({ ...record, waking });
    if (end === undefined) {
      await releaseResources(resources, record);
      table.delete(record.id);
      return;
    }
    const ended: VmRecord = withoutInjection({ ...record, ...end, process: undefined });
    const disk = keepsDisk(record) || ended.status === "paused";
    await releaseResources(resources, record, { disk, save: () => saveRecord(ended) });
    table.set({ state: "ended", record: ended });
  }
}

/** What its rules have refused, before its slot with all that it counted is gone. */
async function countLast({ denials, slots }: HostResources, { id, slot, process }: VmRecord): Promise<void> {
  if (process === undefined) return;
  const { netnsFile } = slots.slot(slot);
  await denials.last({ id, netnsFile, startTicks: process.startTicks });
}
