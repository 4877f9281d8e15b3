// Looks after VMs from the moment they run: sees them end or ends them, and gives back what they had.

import { rm } from "node:fs/promises";
import type { Logger } from "pino";
import type { MainProcess } from "../guest/agent.ts";
import type { LiveVm } from "./clone.ts";
import { endOfHost, stopped, type VmEnd } from "./ending.ts";
import type { Entries, Entry, Running } from "./entries.ts";
import { giveBack, type MachineRoom } from "./instance.ts";
import { keepsDisk, saveRecord, type VmRecord } from "./record.ts";
import { Rest } from "./rest.ts";
import { endGuest } from "./stopping.ts";
import type { Turns } from "./turns.ts";
import { endOfVm } from "./watch.ts";

export interface CaretakerOptions {
  readonly room: MachineRoom;
  readonly entries: Entries;
  /** A VM is not given back while any of it is under way. */
  readonly slotWork: Turns;
  readonly log: Logger;
}

export class Caretaker {
  readonly #options: CaretakerOptions;
  #closing = false;
  #ended = Math.floor(Date.now() / 1_000);

  constructor(options: CaretakerOptions) {
    this.#options = options;
  }

  /** Changes whenever a VM has ended by itself, and with each start of the host. */
  get ended(): number {
    return this.#ended;
  }

  /** From here on the VM is watched. An unused one stands still until somebody comes, where others are still waited for: a hundred that are
   *  idle take more than half a core (emulated), and after seconds write out what their names have changed on their disks. */
  watch(record: VmRecord, live: LiveVm, main: MainProcess | undefined, { isUnused = false } = {}): void {
    const { entries, log } = this.#options;
    const atOnce =
      isUnused && entries.all.some(({ state, record: { id } }) => state === "creating" && id !== record.id);
    const entry: Running = {
      ...{ state: "running" as const, record, live, main },
      rest: new Rest(live, log, { atOnce }),
    };
    entries.set(entry);
    void endOfVm(record, live, main).then((end) => {
      if (this.#closing || !entries.holds(entry) || entry.ending !== undefined) return;
      log.warn({ vm: record.id, reason: end.reason }, "a VM ended by itself");
      // A guest whose main process has ended is there, and has something to write out.
      const finished = this.#finishRunning(entry, entry.record.machine?.stopping === true ? stopped : end, 0);
      // Not before it is listed as ended: control looks once, when it hears of it.
      entry.ending = finished.then(() => void (this.#ended += 1));
    });
  }

  /** Ends a machine in peace. */
  async stop(entry: Running, graceMs: number): Promise<void> {
    const { entries, slotWork, log } = this.#options;
    entry.ending = slotWork
      .take(entry.record.id, async () => {
        const { machine } = entry.record;
        if (machine === undefined || !entries.holds(entry)) return;
        entry.record = { ...entry.record, machine: { ...machine, stopping: true } };
        await saveRecord(entry.record);
      })
      .catch((error: unknown) => log.warn({ err: error }, "a stop could not be noted down"))
      .then(() => this.#finishRunning(entry, stopped, graceMs));
    await entry.ending;
  }

  /** What was promised did not come: control counts on it. */
  async breakPromise(record: VmRecord, reason: string): Promise<void> {
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
    const { entries } = this.#options;
    const done = this.#finish(record, end).catch((error: unknown) => {
      const remembered = { ...record, ...(end ?? endOfHost("its cleanup failed")) };
      entries.set({ state: "ended", record: remembered, owed: { record, end } });
      throw error;
    });
    entries.set({ state: "ending", record, done });
    return done;
  }

  /** Removes the files of a VM that does not run, which may take long. Its entry says so meanwhile: of two requests for its end or for a new
   *  disk the second one waits, instead of removing what the first one has begun since. */
  remove(entry: Entry, before = (): Promise<void> => Promise.resolve()): Promise<void> {
    const { entries } = this.#options;
    const { record } = entry;
    const done = before()
      .then(() => rm(record.folder, { recursive: true, force: true }))
      .then(
        () => entries.delete(record.id),
        (error: unknown) => {
          entries.set(entry);
          throw error;
        },
      );
    entries.set({ state: "ending", record, done });
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
    const { entries, log } = this.#options;
    const { live } = entry;
    const exit = await endGuest(entry, graceMs, log);
    if (!entries.holds(entry) || this.#closing) return;
    live.qmp.close();
    live.channel.close(end.reason ?? "the machine was stopped");
    await this.endNoisily(entry.record, { ...(exit ? { exit } : {}), ...end });
  }

  async #finish({ waking: _over, ...record }: VmRecord, end: VmEnd | undefined): Promise<void> {
    const { room, entries, slotWork } = this.#options;
    await slotWork.settled(record.id);
    if (end === undefined) {
      await giveBack(room, record);
      entries.delete(record.id);
      return;
    }
    const ended: VmRecord = { ...record, ...end, process: undefined };
    await giveBack(room, record, { disk: keepsDisk(record), save: () => saveRecord(ended) });
    entries.set({ state: "ended", record: ended });
  }
}
