// The life of a snapshot as data. No schema library in here, so that the command line starts fast.

/** Every status, and every status it may move to. */
export const snapshotTransitions = {
  creating: ["ready", "failed", "deleting"],
  ready: ["failed", "deleting"],
  // Its files are not there, or not all.
  failed: ["deleting"],
  deleting: ["deleted"],
  deleted: [],
} as const satisfies Record<string, readonly string[]>;

export type SnapshotStatus = keyof typeof snapshotTransitions;

/** What is shown; a deleted one is not. */
export const snapshotStatuses = ["creating", "ready", "failed", "deleting"] as const;

export function canSnapshotTransition(from: SnapshotStatus, to: SnapshotStatus): boolean {
  return (snapshotTransitions[from] as readonly SnapshotStatus[]).includes(to);
}
