// What the engine knows of each VM: where it is in its life, and what can be asked of it there.

import { SkerryError } from "@skerry/contract/errors";
import type { Vm } from "@skerry/contract/host-api";
import { findSize } from "@skerry/contract/sizes";
import type { MainProcess } from "../guest/agent.ts";
import type { LiveVm } from "./clone.ts";
import type { VmEnd } from "./ending.ts";
import type { VmRecord } from "./record.ts";
import type { Rest } from "./rest.ts";

export type Entry =
  | {
      readonly state: "creating";
      record: VmRecord;
      readonly abort: AbortController;
      readonly done: Promise<Vm>;
    }
  | Running
  | { readonly state: "ending"; readonly record: VmRecord; readonly done: Promise<void> }
  /** Gone or stopped. `owed`: what could not be given back yet; the next destroy, stop or start tries again. */
  | { readonly state: "ended"; readonly record: VmRecord; readonly owed?: Owed };

interface Owed {
  readonly record: VmRecord;
  readonly end: VmEnd | undefined;
}

export interface Running {
  readonly state: "running";
  record: VmRecord;
  readonly live: LiveVm;
  readonly rest: Rest;
  readonly main: MainProcess | undefined;
  /** Decided, and under way: nothing that happens to the VM from now on is another end. */
  ending?: Promise<void>;
}

/** Guest memory of all that run or begin, MiB. */
export function memoryOf(entries: Iterable<Entry>): number {
  return [...entries]
    .filter(({ state }) => state !== "ended")
    .reduce((total, { record }) => total + (findSize(record.size)?.memory_mib ?? 0), 0);
}

export function onlyMachines(entry: Entry, otherwise: string): Entry {
  if (entry.record.machine !== undefined) return entry;
  throw new SkerryError("bad_request", `This is a sandbox, so ${otherwise}.`);
}

export function otherThere(): SkerryError {
  return new SkerryError("stale_execution", "Another incarnation of this VM is on this host.", {
    remediation: "Destroy that one first.",
  });
}

export function notRunning({ state, record }: Entry): SkerryError {
  const what = state === "running" ? "stopping" : state === "ended" ? record.status : state;
  return new SkerryError("vm_not_running", record.reason ?? `The VM is ${what}.`);
}
