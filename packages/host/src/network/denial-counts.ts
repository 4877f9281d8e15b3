// Counts what the egress rules of VMs refuse, VM by VM and minute by minute, and remembers it until control has asked. The kernel counts; one process for
// all VMs reads that again and again, and once more where a VM ends, so that a short life is not lost. What was refused before this host process had
// seen a VM that an earlier one started was told to nobody in time, and is left out.

import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { DENIALS_KEPT_MINUTES, VM_DENIALS_MAX, type VmDenials } from "@skerry/contract/host-api/denials";
import { runProgram } from "../system/run.ts";

/** Of two rounds. A round costs a process, and 20 µs for each VM. */
const EVERY_MS = 10_000;
const DEADLINE_MS = 5_000;
const MINUTE_MS = 60_000;

export interface CountedVm {
  readonly id: string;
  readonly netnsFile: string;
  /** Of its QEMU: no two VMs that have had the slot began in the same tick. */
  readonly startTicks: number;
}

export interface DenialCountsOptions {
  /** The program `native/slot-denials.c`. */
  readonly program: string;
  /** When this host process began; what is older was counted by another one. */
  readonly startTicks: number;
  readonly log: Pick<Logger, "debug">;
}

export class DenialCounts {
  readonly #options: DenialCountsOptions;
  /** What the kernel had counted when it was read last, by the slot and its VM. */
  #seen = new Map<string, number>();
  /** By minute and id. */
  readonly #minutes = new Map<number, Map<string, number>>();
  /** One reading at a time: another one's end must not be counted twice. */
  #turn: Promise<void> = Promise.resolve();

  constructor(options: DenialCountsOptions) {
    this.#options = options;
  }

  /** Resolves after `stop`. Never rejects. */
  async run(vms: () => readonly CountedVm[], stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await sleep(EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
      if (!stop.aborted) await this.round(vms);
    }
  }

  /** Reads all that run, and forgets the others. Never rejects. */
  round(vms: () => readonly CountedVm[]): Promise<void> {
    return this.#next(async () => {
      const running = vms();
      await this.#read(running);
      const names = new Set(running.map(nameOf));
      for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
    });
  }

  /** To be called before its slot is closed. Never rejects. */
  last(vm: CountedVm): Promise<void> {
    return this.#next(async () => {
      await this.#read([vm]);
      this.#seen.delete(nameOf(vm));
    });
  }

  /** From a minute on, newest first, and not more than fit into an answer. */
  since(minute: number): VmDenials {
    this.#forgetOld();
    const minutes = [...this.#minutes]
      .filter(([at]) => at >= minute)
      .toSorted(([one], [other]) => other - one);
    const items = minutes.flatMap(([at, counts]) =>
      [...counts].map(([id, packets]) => ({ id, minute: at, packets })),
    );
    return { items: items.slice(0, VM_DENIALS_MAX) };
  }

  #next(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work).catch((error: unknown) => {
      this.#options.log.debug({ err: error }, "denials could not be counted");
    });
    return this.#turn;
  }

  async #read(vms: readonly CountedVm[]): Promise<void> {
    if (vms.length === 0) return;
    const input = vms.map(({ netnsFile }) => `${netnsFile}\n`).join("");
    const output = await runProgram(this.#options.program, [], { deadlineMs: DEADLINE_MS, input });
    const lines = output.split("\n");
    for (const [index, vm] of vms.entries()) {
      // `-`: its slot is from before there was such a counter, or has gone.
      const packets = Number(lines[index] === "" ? undefined : lines[index]);
      if (Number.isSafeInteger(packets)) this.#note(vm, packets);
    }
  }

  #note(vm: CountedVm, packets: number): void {
    const isOurs = vm.startTicks >= this.#options.startTicks;
    const before = this.#seen.get(nameOf(vm)) ?? (isOurs ? 0 : packets);
    this.#seen.set(nameOf(vm), packets);
    if (packets <= before) return;
    const minute = Math.floor(Date.now() / MINUTE_MS);
    const counts = this.#minutes.get(minute) ?? new Map<string, number>();
    this.#minutes.set(minute, counts.set(vm.id, (counts.get(vm.id) ?? 0) + packets - before));
    this.#forgetOld();
  }

  #forgetOld(): void {
    const oldest = Math.floor(Date.now() / MINUTE_MS) - DENIALS_KEPT_MINUTES;
    for (const minute of this.#minutes.keys()) if (minute < oldest) this.#minutes.delete(minute);
  }
}

function nameOf({ netnsFile, startTicks }: CountedVm): string {
  return `${netnsFile} ${startTicks}`;
}
