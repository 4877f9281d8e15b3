// Snapshots of machines, and what is done with them.

import type { Operations } from "../api/operation.ts";
import { createSnapshotOperation } from "../snapshots/snapshot-operations.ts";
import { machineVms } from "./machines.ts";

export const machineSnapshotOperations = {
  createMachineSnapshot: createSnapshotOperation(machineVms),
} as const satisfies Operations;
