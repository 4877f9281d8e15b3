// Snapshots of machines, and what is done with them.

import { Machine, MachineForks } from "@skerry/contract/machines/machine";
import { ForkRequest, RollbackRequest } from "@skerry/contract/vms/forks";
import type { Operations } from "../api/operation.ts";
import { createSnapshotOperation } from "../snapshots/snapshot-operations.ts";
import { inVmErrors, secretsErrors } from "../vms/vm-errors.ts";
import { vmPath } from "../vms/vm-path.ts";
import { machineVms } from "./machines.ts";

const path = vmPath(machineVms);

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
    ...path,
    body: ForkRequest,
    isBodyOptional: true,
    answers: { 201: MachineForks },
    access: { scope: "machines:write", role: "member", rate: "expensive" },
    audit: { action: "machine.fork", resource: "machine" },
    errors: [
      ...inVmErrors(machineVms),
      ...secretsErrors,
      "disk_full",
      "machine_destroyed",
      "host_draining",
      "no_capacity",
      "not_snapshotable",
      "quota_exceeded",
      "snapshot_damaged",
      "snapshot_incompatible",
      "snapshot_not_found",
      "template_not_ready",
    ],
  },
  rollBackMachine: {
    surface: "v1",
    method: "POST",
    path: "/v1/machines/:id/rollback",
    tag: "machines",
    summary: "Roll a machine back to a snapshot",
    description:
      "It goes on from the memory and the disk of the snapshot, and what it was until then is lost, with its disk. It is stopped at once, where it runs. " +
      "The snapshot is of any machine of the organization with the same template, size and main process; where it is on another host, it is brought to the machine's, and the call takes as long as its files do.",
    ...path,
    body: RollbackRequest,
    answers: { 200: Machine },
    access: { scope: "machines:write", role: "member", rate: "expensive" },
    audit: { action: "machine.rollback", resource: "machine" },
    errors: [
      ...inVmErrors(machineVms),
      ...secretsErrors,
      "owned",
      "disk_full",
      "machine_destroyed",
      "host_draining",
      "no_capacity",
      "quota_exceeded",
      "snapshot_damaged",
      "snapshot_incompatible",
      "snapshot_not_found",
      "unknown_snapshot",
    ],
  },
} as const satisfies Operations;
