// Looks after VMs from the moment they run: sees them end or ends them, and gives back what they had.

import type { Logger } from "pino";
import type { MainProcess } from "../../guest/agent.ts";
import type { LiveVm } from "../start/clone.ts";
import { endOfHost, stopped, type VmEnd } from "./vm-end.ts";
import type { VmTable, Running } from "./vm-table.ts";
import { releaseResources, type HostResources } from "../vm-resources.ts";
import { keepsDisk, saveRecord, type VmRecord } from "../record.ts";
import { IdlePause } from "./idle-pause.ts";
import { endGuest } from "./stop-guest.ts";
import type { KeyedQueue } from "../keyed-queue.ts";
import { endOfVm } from "./end-of-vm.ts";

export interface VmLifecycleOptions {
  readonly resources: HostResources;
  readonly table: VmTable;
  /** A VM is not given back while any of it is under way. */
  readonly slotWork: KeyedQueue;
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

  /** From here on the VM is watched. An unused one stands still until somebody comes, where others are still waited for: a hundred that are
   *  idle take more than half a core (emulated), and after seconds write out what their names have changed on their disks. */
  watch(record: VmRecord, live: LiveVm, main: MainProcess | undefined, { isUnused = false } = {}): void {
    const { table, log } = this.#options;
    const atOnce =
      isUnused && table.all.some(({ state, record: { id } }) => state === "creating" && id !== record.id);
    const entry: Running = {
      ...{ state: "running" as const, record, live, main },
      idlePause: new IdlePause(live, log, { atOnce }),
    };
    table.set(entry);
    void endOfVm(record, live, main).then((end) => {
      if (this.#closing || !table.holds(entry) || entry.ending !== undefined) return;
      log.warn({ vm: record.id, reason: end.reason }, "a VM ended by itself");
      // A guest whose main process has ended is there, and has something to write out.
      const finished = this.#finishRunning(entry, entry.record.machine?.stopping === true ? stopped : end, 0);
      // Not before it is listed as ended: control looks once, when it hears of it.
      entry.ending = finished.then(() => void (this.#ended += 1));
    });
  }

  /** Ends a machine in peace. */
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

  /** What was promised did not come: control counts on it. */
  async failAcknowledged(record: VmRecord, reason: string): Promise<void> {
    this.#options.log.warn({ vm: record.id, reason }, "a VM that was promised could not be woken");
    await this.lose(record, reason);
  }

  /** Ends a VM that the host cannot go on with. One that was told to stop has done so, however it went. */
  lose(record: VmRecord, reason: string): Promise<void> {
    return this.endUnasked(record, record.machine?.stopping === true ? stopped : endOfHost(reason));
  }

  /** Ends a VM that control believes to be there; control looks only when it is told to. Never rejects. */
  async endUnasked(record: VmRecord, end: VmEnd | undefined): Promise<void> {
    await this.endNoisily(record, end);
    this.#ended += 1;
  }

  /** Gives everything back. With an end the VM is remembered, until control has asked for its removal; what cannot be given back now is
   *  remembered too, and tried again then. */
  end(record: VmRecord, end: VmEnd | undefined): Promise<void> {
    const { table } = this.#options;
    const done = this.#finish(record, end).catch((error: unknown) => {
      const remembered = { ...record, ...(end ?? endOfHost("its cleanup failed")) };
      table.set({ state: "ended", record: remembered, pendingCleanup: { record, end } });
      throw error;
    });
    table.set({ state: "ending", record, done });
    return done;
  }

  async endNoisily(record: VmRecord, end: VmEnd | undefined): Promise<void> {
    await this.end(record, end).catch((failure: unknown) => {
      this.#options.log.error({ err: failure, vm: record.id }, "a VM could not be cleaned up yet");
    });
  }

  /** Whatever ends from now on, the next host process sees to. */
  close(): void {
    this.#closing = true;
  }

  /** Never rejects: what could not be given back is remembered. */
  async #finishRunning(entry: Running, end: VmEnd, graceMs: number): Promise<void> {
    const { table, log } = this.#options;
    const { live } = entry;
    const exit = await endGuest(entry, graceMs, log);
    if (!table.holds(entry) || this.#closing) return;
    live.qmp.close();
    live.channel.close(end.reason ?? "the machine was stopped");
    await this.endNoisily(entry.record, { ...(exit ? { exit } : {}), ...end });
  }

  async #finish({ waking: _over, ...record }: VmRecord, end: VmEnd | undefined): Promise<void> {
    const { resources, table, slotWork } = this.#options;
    await slotWork.settled(record.id);
    if (end === undefined) {
      await releaseResources(resources, record);
      table.delete(record.id);
      return;
    }
    const ended: VmRecord = { ...record, ...end, process: undefined };
    await releaseResources(resources, record, { disk: keepsDisk(record), save: () => saveRecord(ended) });
    table.set({ state: "ended", record: ended });
  }
}
