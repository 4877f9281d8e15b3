// The VMs of this host: the state of each, and the operations that the state allows.

import { SkerryError } from "@skerry/contract/errors";
import type { Vm } from "@skerry/contract/host-api/vm";
import { findSize } from "@skerry/contract/sizes";
import type { MainProcess } from "../../guest/agent.ts";
import type { LiveVm } from "../start/clone.ts";
import type { EndReason } from "./end-reason.ts";
import { fullDiskError } from "./end-of-full-disk.ts";
import { mayBe, type VmRecord } from "../record/record.ts";
import type { GuestHalt } from "./guest-halt.ts";

export type VmEntry =
  | {
      readonly state: "creating";
      record: VmRecord;
      readonly abort: AbortController;
      readonly done: Promise<Vm>;
    }
  | Adopting
  | Running
  /** A machine or a sandbox whose record this host does not understand. Its files stay until it is
   *  destroyed; see unreadable.ts. */
  | { readonly state: "unreadable"; readonly record: VmRecord; readonly isKept: boolean }
  | { readonly state: "ending"; readonly record: VmRecord; readonly done: Promise<void> }
  /** Gone or stopped. `pendingCleanup`: resources that could not be released yet; the next destroy, stop
   *  or start tries again. */
  | { readonly state: "ended"; readonly record: VmRecord; readonly pendingCleanup?: PendingCleanup };

interface PendingCleanup {
  readonly record: VmRecord;
  readonly end: EndReason | undefined;
}

/** Found running by a new host process, which is not connected to it yet. */
export interface Adopting {
  readonly state: "adopting";
  record: VmRecord;
  /** Aborts the adoption; the VM runs on. */
  readonly abort: AbortController;
  /** Resolves when the VM has another entry, or when the adoption was aborted. */
  done: Promise<void>;
}

export interface Running {
  readonly state: "running";
  record: VmRecord;
  readonly live: LiveVm;
  readonly guestHalt: GuestHalt;
  readonly main: MainProcess | undefined;
  /** Resolves when the VM has ended by itself and is listed as that, or has ended otherwise before. */
  readonly ended: Promise<void>;
  /** Present while the end is under way, and removed where a pause fails. Never rejects. */
  ending?: Promise<void>;
}

/** Holds one incarnation of each VM at most. */
export class VmTable {
  readonly #byId = new Map<string, VmEntry>();

  get all(): readonly VmEntry[] {
    return [...this.#byId.values()];
  }

  /** Guest memory of all VMs that run or are being created, MiB. */
  get memoryMib(): number {
    return this.all
      .filter(({ state }) => state !== "ended" && state !== "unreadable")
      .reduce((total, { record }) => total + (findSize(record.size)?.memory_mib ?? 0), 0);
  }

  /** Any incarnation, in any state. */
  find(id: string): VmEntry | undefined {
    return this.#byId.get(id);
  }

  known(id: string): VmEntry {
    const entry = this.#byId.get(id);
    if (entry === undefined) throw new SkerryError("vm_not_found", "There is no such VM on this host.");
    return entry;
  }

  of(id: string, executionId: string): VmEntry {
    const entry = this.known(id);
    if (!mayBe(entry.record, executionId))
      throw new SkerryError("stale_execution", "That incarnation of the VM is not on this host.");
    return entry;
  }

  running(id: string, executionId: string): Running {
    const entry = this.of(id, executionId);
    if (entry.state !== "running" || entry.ending !== undefined) throw notRunning(entry);
    return entry;
  }

  /** Undefined: this incarnation does not run here. */
  slotOf(id: string, executionId: string): number | undefined {
    const entry = this.#byId.get(id);
    if (entry === undefined || entry.record.execution_id !== executionId) return undefined;
    const runs = entry.state === "adopting" || (entry.state === "running" && entry.ending === undefined);
    return runs ? entry.record.slot : undefined;
  }

  /** A VM that has a slot with a policy of its own, whether or not its guest can be asked. */
  governed(id: string, executionId: string): Running | Adopting {
    const entry = this.of(id, executionId);
    return entry.state === "adopting" ? entry : this.running(id, executionId);
  }

  /** Whether the entry is still the current one of its VM. */
  holds(entry: VmEntry): boolean {
    return this.#byId.get(entry.record.id) === entry;
  }

  set(entry: VmEntry): void {
    this.#byId.set(entry.record.id, entry);
  }

  delete(id: string): void {
    this.#byId.delete(id);
  }
}

export function onlyMachines(entry: VmEntry, otherwise: string): VmEntry {
  if (entry.record.machine !== undefined) return entry;
  throw new SkerryError("bad_request", `This is a sandbox, so ${otherwise}.`);
}

export function otherThere(): SkerryError {
  return new SkerryError("stale_execution", "Another incarnation of this VM is on this host.", {
    remediation: "Destroy that one first.",
  });
}

/** This host process ends, and the VM runs on. `vm_not_running` would tell control that a machine has stopped. */
export function hostIsEnding(cause?: unknown): SkerryError {
  return new SkerryError("host_unavailable", "The host is being restarted.", { retryAfterS: 1, cause });
}

export function notRunning({ state, record }: VmEntry): SkerryError {
  const what = state === "running" ? "stopping" : state === "ended" ? record.status : state;
  return (
    fullDiskError(record.reason) ?? new SkerryError("vm_not_running", record.reason ?? `The VM is ${what}.`)
  );
}
