// Snapshots of machines, and what is done with them.

import { MachineForks } from "@skerry/contract/machines/machine";
import { ForkRequest } from "@skerry/contract/vms/forks";
import type { Operations } from "../api/operation.ts";
import { createSnapshotOperation } from "../snapshots/snapshot-operations.ts";
import { inVmErrors } from "../vms/vm-errors.ts";
import { vmPath } from "../vms/vm-path.ts";
import { machineVms } from "./machines.ts";

export const machineSnapshotOperations = {
  createMachineSnapshot: createSnapshotOperation(machineVms),
  forkMachine: {
    surface: "v1",
    method: "POST",
    path: "/v1/machines/:id/fork",
    tag: "machines",
    summary: "Fork a machine",
    description:
      "Makes new machines that go on from its memory and its disk as they are now, all or none. They have its size, egress rules, restart policy, " +
      "environment and labels, and a disk, an identity, a clock and random numbers of their own; its main process goes on in each of them, and connections are not theirs. It runs on itself.",
    ...vmPath(machineVms),
    body: ForkRequest,
    isBodyOptional: true,
    answers: { 201: MachineForks },
    access: { scope: "machines:write", role: "member", rate: "expensive" },
    audit: { action: "machine.fork", resource: "machine" },
    errors: [
      ...inVmErrors(machineVms),
      "disk_full",
      "machine_destroyed",
      "no_capacity",
      "not_snapshotable",
      "quota_exceeded",
      "snapshot_damaged",
      "snapshot_incompatible",
      "snapshot_not_found",
    ],
  },
} as const satisfies Operations;
