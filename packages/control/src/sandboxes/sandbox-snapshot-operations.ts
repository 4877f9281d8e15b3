// Snapshots of sandboxes, and what is done with them.

import { Sandbox, SandboxForks } from "@skerry/contract/sandboxes/sandbox";
import { ForkRequest, RollbackRequest } from "@skerry/contract/vms/forks";
import type { Operations } from "../api/operation.ts";
import { createSnapshotOperation } from "../snapshots/snapshot-operations.ts";
import { inVmErrors } from "../vms/vm-errors.ts";
import { vmPath } from "../vms/vm-path.ts";
import { sandboxVms } from "./sandbox-vms.ts";

const path = vmPath(sandboxVms);

export const sandboxSnapshotOperations = {
  createSnapshot: createSnapshotOperation(sandboxVms),
  forkSandbox: {
    surface: "v1",
    method: "POST",
    path: "/v1/sandboxes/:id/fork",
    tag: "sandboxes",
    summary: "Fork a sandbox",
    description:
      "Makes new sandboxes that go on from its memory and its disk as they are now, all or none. They have its mode, size, egress rules, timeout, " +
      "environment and labels, and an identity, a clock and random numbers of their own; connections are not theirs. It goes on itself. One that is paused is resumed first.",
    ...path,
    body: ForkRequest,
    isBodyOptional: true,
    answers: { 201: SandboxForks },
    access: { scope: "sandboxes:write", role: "member", rate: "expensive" },
    audit: { action: "sandbox.fork", resource: "sandbox" },
    errors: [...inVmErrors(sandboxVms), "not_snapshotable", "snapshot_not_found", "template_not_ready"],
  },
  rollBackSandbox: {
    surface: "v1",
    method: "POST",
    path: "/v1/sandboxes/:id/rollback",
    tag: "sandboxes",
    summary: "Roll a sandbox back to a snapshot",
    description:
      "It goes on from the memory and the disk of the snapshot, and what it was until then is lost. The snapshot is of any sandbox of the organization " +
      "with the same template and size; where it is on another host, it is brought to the sandbox's, and the call takes as long as its files do.",
    ...path,
    body: RollbackRequest,
    answers: { 200: Sandbox },
    access: { scope: "sandboxes:write", role: "member", rate: "expensive" },
    audit: { action: "sandbox.rollback", resource: "sandbox" },
    errors: [...inVmErrors(sandboxVms), "owned", "unknown_snapshot", "snapshot_not_found"],
  },
} as const satisfies Operations;
