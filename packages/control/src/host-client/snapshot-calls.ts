// The calls by which a VM is paused and kept as a snapshot; contract/src/host-api/snapshots.ts describes them.

import { Compile } from "typebox/compile";
import {
  HostSnapshot,
  HostSnapshotList,
  UnusedVms,
  type PauseVm,
  type SnapshotVm,
  type UnusedVm,
} from "@skerry/contract/host-api/snapshots";
import { SkerryError } from "@skerry/contract/errors";
import { Vm } from "@skerry/contract/host-api/vm";
import { Deadline } from "./deadline.ts";
import type { VmRef } from "./vm-ref.ts";
import type { HostTransport } from "./host-transport.ts";

const CALL_DEADLINE_MS = 15_000;
/** Memory is written to a disk that may be slow. */
const SNAPSHOT_DEADLINE_MS = 120_000;

const shapes = {
  vm: Compile(Vm),
  snapshot: Compile(HostSnapshot),
  snapshots: Compile(HostSnapshotList),
  unused: Compile(UnusedVms),
};

export interface PauseOptions {
  /** Only where nothing has used it for so long; otherwise `vm_in_use`. */
  readonly unusedMs?: number;
  /** Its guest writes its disk out first. */
  readonly sync?: boolean;
  readonly stop?: AbortSignal | undefined;
}

export class SnapshotCalls {
  readonly #transport: HostTransport;

  constructor(transport: HostTransport) {
    this.#transport = transport;
  }

  /** Only for sandboxes. Resolves when it holds nothing but files. The same call twice is one pause. */
  pause(vm: VmRef, { unusedMs, sync = false, stop }: PauseOptions = {}): Promise<Vm> {
    const order: PauseVm = {
      execution_id: vm.execution_id,
      ...(unusedMs === undefined ? {} : { unused_ms: unusedMs }),
      ...(sync && { sync }),
    };
    const call = { method: "POST", path: `${vmPath(vm.id)}/pause`, json: order } as const;
    return this.#transport.json(call, shapes.vm, new Deadline(SNAPSHOT_DEADLINE_MS, stop));
  }

  /** None of a host of a version that does not tell. */
  async unused(stop?: AbortSignal): Promise<readonly UnusedVm[]> {
    const call = { method: "GET", path: "/unused-vms" } as const;
    const unused = this.#transport.json(call, shapes.unused, new Deadline(CALL_DEADLINE_MS, stop));
    return unused.then(
      ({ items }) => items,
      (error: unknown) => {
        if (error instanceof SkerryError && error.code === "not_found") return [];
        throw error;
      },
    );
  }

  /** The VM goes on. The same call twice is one snapshot. */
  take(vm: VmRef, snapshotId: string, stop?: AbortSignal): Promise<HostSnapshot> {
    const order: SnapshotVm = { execution_id: vm.execution_id, snapshot_id: snapshotId };
    const call = { method: "POST", path: `${vmPath(vm.id)}/snapshots`, json: order } as const;
    return this.#transport.json(call, shapes.snapshot, new Deadline(SNAPSHOT_DEADLINE_MS, stop));
  }

  async list(stop?: AbortSignal): Promise<readonly HostSnapshot[]> {
    const call = { method: "GET", path: "/snapshots" } as const;
    return (await this.#transport.json(call, shapes.snapshots, new Deadline(CALL_DEADLINE_MS, stop))).items;
  }

  /** Also succeeds where it is gone already. */
  delete(id: string, stop?: AbortSignal): Promise<void> {
    const call = { method: "DELETE", path: `/snapshots/${encodeURIComponent(id)}` } as const;
    return this.#transport.done(call, new Deadline(CALL_DEADLINE_MS, stop));
  }
}

function vmPath(id: string): string {
  return `/vms/${encodeURIComponent(id)}`;
}
