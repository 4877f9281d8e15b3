// The calls of the host API by which a VM moves. What takes as long as there is to send has a deadline against hanging only: the host knows
// better when nothing moves any more.

import { Compile } from "typebox/compile";
import { Vm } from "@skerry/contract/host-api/vm";
import {
  ArrivalNeeds,
  Departed,
  VmManifest,
  type ArrivalOrder,
  type DepartureOrder,
  type ResumeOrder,
} from "@skerry/contract/host-api/move-calls";
import { Deadline } from "./deadline.ts";
import type { HostTransport } from "./host-transport.ts";

/** Reading what a disk stands on takes a while, the first time. */
const PREPARE_DEADLINE_MS = 120_000;
/** Disk and memory of the largest VM, and calls into it that are waited for. */
const SEND_DEADLINE_MS = 60 * 60_000;
const RESUME_DEADLINE_MS = 40_000;
const STAY_DEADLINE_MS = 90_000;

const shapes = {
  manifest: Compile(VmManifest),
  needs: Compile(ArrivalNeeds),
  departed: Compile(Departed),
  vm: Compile(Vm),
};

export class MoveCalls {
  readonly #transport: HostTransport;

  constructor(transport: HostTransport) {
    this.#transport = transport;
  }

  /** What the VM needs wherever it goes on. */
  manifest(id: string, executionId: string, stop: AbortSignal): Promise<VmManifest> {
    const call = {
      method: "GET",
      path: `/vms/${id}/manifest`,
      query: { execution_id: executionId },
    } as const;
    return this.#transport.json(call, shapes.manifest, new Deadline(PREPARE_DEADLINE_MS, stop));
  }

  /** The target holds room for it from here on, under its policy. */
  prepare(id: string, order: ArrivalOrder, stop: AbortSignal): Promise<ArrivalNeeds> {
    const call = { method: "PUT", path: `/vms/${id}/arrival`, json: order } as const;
    return this.#transport.json(call, shapes.needs, new Deadline(PREPARE_DEADLINE_MS, stop));
  }

  /** Resolves when the source has sent everything, and the VM stands still there. */
  send(id: string, order: DepartureOrder, stop: AbortSignal): Promise<Departed> {
    const call = { method: "PUT", path: `/vms/${id}/departure`, json: order } as const;
    return this.#transport.json(call, shapes.departed, new Deadline(SEND_DEADLINE_MS, stop));
  }

  /** Resolves when the target has everything. */
  whole(id: string, executionId: string, stop: AbortSignal): Promise<void> {
    const call = { method: "GET", path: `/vms/${id}/arrival`, query: { execution_id: executionId } } as const;
    return this.#transport.done(call, new Deadline(PREPARE_DEADLINE_MS, stop));
  }

  /** Resolves when it runs at the target. */
  resume(id: string, order: ResumeOrder, stop: AbortSignal): Promise<Vm> {
    const call = { method: "POST", path: `/vms/${id}/arrival/resume`, json: order } as const;
    return this.#transport.json(call, shapes.vm, new Deadline(RESUME_DEADLINE_MS, stop));
  }

  /** Resolves when it goes on at the source. */
  stay(id: string, moveId: string, stop: AbortSignal): Promise<void> {
    const call = { method: "DELETE", path: `/vms/${id}/departure`, query: { move_id: moveId } } as const;
    return this.#transport.done(call, new Deadline(STAY_DEADLINE_MS, stop));
  }
}
