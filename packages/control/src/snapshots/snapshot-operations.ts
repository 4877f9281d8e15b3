import { Type } from "typebox";
import {
  Snapshot,
  SnapshotCreateRequest,
  SnapshotList,
  SnapshotListQuery,
} from "@skerry/contract/snapshots/snapshot";
import type { IdOf, Operation, Operations } from "../api/operation.ts";
import { inVmErrors } from "../vms/vm-errors.ts";
import type { VmKind } from "../vms/vm-kind.ts";
import { vmPath } from "../vms/vm-path.ts";
import { getDeletableSnapshot, getSnapshot, isSnapshotId } from "./snapshots.ts";

function path(find: typeof getSnapshot) {
  const idOf: IdOf = async (context, caller, asked) =>
    isSnapshotId(asked) ? asked : (await find(context, caller, asked)).id;
  return { params: Type.Object({ id: Type.String({ description: "Id or name of the snapshot." }) }), idOf };
}

export function createSnapshotOperation(kind: VmKind) {
  return {
    surface: "v1",
    method: "POST",
    path: `/v1/${kind.table}/:id/snapshots`,
    tag: kind.table,
    summary: `Take a snapshot of a ${kind.noun}`,
    description: `Of its memory and its disk at one moment; it goes on. New ${kind.table} can begin there, and it can be rolled back to it.${kind.noun === "sandbox" ? " One that is paused is resumed first." : ""}`,
    ...vmPath(kind),
    body: SnapshotCreateRequest,
    isBodyOptional: true,
    answers: { 201: Snapshot },
    access: { scope: `${kind.table}:write`, role: "member", rate: "expensive" },
    audit: { action: "snapshot.create", resource: "snapshot" },
    errors: [
      ...inVmErrors(kind),
      "disk_full",
      "name_taken",
      "not_snapshotable",
      "quota_exceeded",
      "snapshot_not_found",
    ],
  } as const satisfies Operation;
}

export const snapshotOperations = {
  listSnapshots: {
    surface: "v1",
    method: "GET",
    path: "/v1/snapshots",
    tag: "snapshots",
    summary: "List snapshots",
    description:
      "The snapshots of the organization, newest first: those of sandboxes for a token with `sandboxes:read`, and those of machines for one with `machines:read`.",
    query: SnapshotListQuery,
    answers: { 200: SnapshotList },
    access: { scope: "sandboxes:read", orScope: "machines:read", role: "viewer", rate: "read" },
    audit: { action: "snapshot.list", resource: "snapshot" },
    errors: [],
  },
  getSnapshot: {
    surface: "v1",
    method: "GET",
    path: "/v1/snapshots/:id",
    tag: "snapshots",
    summary: "Get a snapshot",
    ...path(getSnapshot),
    answers: { 200: Snapshot },
    access: { scope: "sandboxes:read", orScope: "machines:read", role: "viewer", rate: "read" },
    audit: { action: "snapshot.get", resource: "snapshot" },
    errors: ["snapshot_not_found"],
  },
  deleteSnapshot: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/snapshots/:id",
    tag: "snapshots",
    summary: "Delete a snapshot",
    description: "What was made of it stays, and so do the snapshots that have it as their parent.",
    ...path(getDeletableSnapshot),
    answers: { 204: Type.Null({ description: "It is deleted." }) },
    access: { scope: "sandboxes:write", orScope: "machines:write", role: "member", rate: "write" },
    audit: { action: "snapshot.delete", resource: "snapshot" },
    errors: ["snapshot_not_found"],
  },
} as const satisfies Operations;
