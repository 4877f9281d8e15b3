// Sandboxes and machines have much in common; what they have not is here.

import type { Scope, Snapshot, VmCalls } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { resources } from "../live/resources.ts";

export interface VmKind {
  readonly noun: "sandbox" | "machine";
  /** Where its list is, and what that is called. */
  readonly path: string;
  readonly plural: string;
  readonly calls: VmCalls & { destroy(id: string): Promise<unknown> };
  readonly writeScope: Scope;
  readonly executeScope: Scope;
  /** Id of the other one. */
  readonly fork: (id: string) => Promise<string | undefined>;
  readonly rollback: (id: string, snapshot: string) => Promise<void>;
  /** Of which one the snapshot is; null where it is of the other kind. */
  readonly takenOf: (snapshot: Snapshot) => string | null;
}

export const sandboxKind: VmKind = {
  noun: "sandbox",
  path: "/sandboxes",
  plural: "Sandboxes",
  calls: skerry.sandboxes,
  writeScope: "sandboxes:write",
  executeScope: "sandboxes:execute",
  fork: async (id) => (await skerry.sandboxes.fork(id))[0]?.id,
  rollback: async (id, snapshot) =>
    void resources.sandbox.put((await skerry.sandboxes.rollback(id, snapshot)).info),
  takenOf: ({ sandbox_id: id }) => id,
};

export const machineKind: VmKind = {
  noun: "machine",
  path: "/machines",
  plural: "Machines",
  calls: skerry.machines,
  writeScope: "machines:write",
  executeScope: "machines:execute",
  fork: async (id) => (await skerry.machines.fork(id))[0]?.id,
  rollback: async (id, snapshot) => void resources.machine.put(await skerry.machines.rollback(id, snapshot)),
  takenOf: ({ machine_id: id }) => id,
};
