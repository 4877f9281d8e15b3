// What the difference between the rows of snapshots and the snapshots of one host means. Pure. What a host has without a row is left there: it may be
// all that is left after a restore of the database.

import type { HostSnapshot } from "@skerry/contract/host-api/snapshots";
import type { SnapshotStatus } from "@skerry/contract/snapshots/snapshot-status";
import type { SnapshotFact } from "./snapshot-store.ts";

export type SnapshotAction =
  /** The replica that took it has died after the host had. */
  | { readonly kind: "ready"; readonly row: SnapshotFact; readonly taken: HostSnapshot }
  | { readonly kind: "fail"; readonly row: SnapshotFact; readonly reason: string }
  /** The fork that it was taken for is over. */
  | { readonly kind: "forget"; readonly row: SnapshotFact }
  /** Its end was requested; the host has to confirm it. */
  | { readonly kind: "finish"; readonly row: SnapshotFact }
  /** It came to the host after its end. */
  | { readonly kind: "discard"; readonly row: SnapshotFact };

/** `rows` were read before the host's list. */
export function snapshotReconcileActions(
  rows: readonly SnapshotFact[],
  listed: readonly HostSnapshot[],
): SnapshotAction[] {
  const byId = new Map(listed.map((snapshot) => [snapshot.id, snapshot]));
  return rows.flatMap((row) => actionOf(row, byId.get(row.id)) ?? []);
}

function actionOf(row: SnapshotFact, taken: HostSnapshot | undefined): SnapshotAction | undefined {
  if (row.claimed) return undefined;
  const isForFork = row.is_internal && (row.status === "creating" || row.status === "ready");
  return isForFork ? { kind: "forget", row } : actions[row.status](row, taken);
}

type Decide = (row: SnapshotFact, taken: HostSnapshot | undefined) => SnapshotAction | undefined;

const discard: Decide = (row, taken) =>
  taken === undefined || row.waiting ? undefined : { kind: "discard", row };

const actions: Readonly<Record<SnapshotStatus, Decide>> = {
  creating: (row, taken) =>
    taken === undefined
      ? { kind: "fail", row, reason: "the control plane stopped while it was taking the snapshot" }
      : { kind: "ready", row, taken },
  ready: (row, taken) =>
    taken === undefined ? { kind: "fail", row, reason: "its host does not have it any more" } : undefined,
  deleting: (row) => (row.waiting ? undefined : { kind: "finish", row }),
  failed: discard,
  deleted: discard,
};
