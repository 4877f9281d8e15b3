// An engine of a host process that comes after another one, in a room where nothing is but what its test looks at.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { HostEgress } from "@skerry/contract/vms/egress";
import { pino } from "pino";
import { VmEngine, type EngineOptions } from "../../src/vm/engine/engine.ts";
import { ownerOf } from "./records.ts";

export const noMoves = { arrived: () => undefined, sent: () => undefined };

export class EngineStub {
  /** Slots that were taken for VMs that were found, and slots that were given back. */
  readonly taken: number[] = [];
  readonly closed: number[] = [];
  /** How many VMs were begun. */
  begun = 0;
  /** Loads rules into a slot. */
  loadRules: () => Promise<void> = async () => undefined;

  readonly #firstVmUid: number;

  /** Each test file has users of its own, because an engine ends what runs as one of them. */
  constructor(firstVmUid: number) {
    this.#firstVmUid = firstVmUid;
  }

  engineIn(vmsFolder: string): VmEngine {
    const resources = {
      slots: {
        adopt: (slot: number) => void this.taken.push(slot),
        take: () => ({ number: 100 + (this.begun += 1) }),
        slot: (number: number) => ({ number }),
        close: async ({ number }: { number: number }) => void this.closed.push(number),
        sweep: async () => 0,
      },
      egress: {
        adopt: () => this.loadRules(),
        replace: () => this.loadRules(),
        report: async (_slot: unknown, inForce: HostEgress) => inForce,
      },
      cgroups: { remove: async () => undefined },
      denials: { last: async () => undefined },
      firstVmUid: this.#firstVmUid,
    };
    // A template takes longer than any test.
    const library = {
      require: () => undefined,
      envOf: () => ({}),
      frozen: () => new Promise(() => undefined),
    };
    const owner = ownerOf(vmsFolder);
    const log = pino({ level: "silent" });
    // More of the resources and the library is not asked for here.
    const options = { resources, library, vmsFolder, instance: owner.instance, owner, log };
    return new VmEngine(options as unknown as EngineOptions);
  }
}

/** A process that stands for a QEMU. */
export async function idle(...args: readonly string[]): Promise<ChildProcess> {
  // The shell reads for ever by itself: a child of it would outlive it.
  const child = spawn("/bin/sh", ["-c", "read -r _", "sh", ...args], { stdio: ["pipe", "ignore", "ignore"] });
  await once(child, "spawn");
  return child;
}
