// The life of a move as data: one VM on its way from one host to another. No schema library in here.

/** Every status, and every status it may move to. This table is the diagram. Into `resuming` goes the one moment of decision: until then
 *  the VM is the source's, from then on it is the target's. */
export const moveTransitions = {
  // The target makes room, under its own execution id and with the VM's policy in force.
  preparing: ["sending", "canceling"],
  // Disk, then memory. The VM runs on at its source, but for the last moment.
  sending: ["resuming", "canceling"],
  // Its row names the target. What is left is to let it run there and to clear up at the source.
  resuming: ["done"],
  // The target gives back what it had made, and the source goes on.
  canceling: ["canceled", "failed"],
  done: [],
  canceled: [],
  failed: [],
} as const satisfies Record<string, readonly string[]>;

export type MoveStatus = keyof typeof moveTransitions;
// Object.keys forgets which they are.
export const moveStatuses = Object.keys(moveTransitions) as MoveStatus[];

/** Statuses of which a VM can have one at a time. */
export const moveStatusesUnderWay = ["preparing", "sending", "resuming", "canceling"] as const;

/** Statuses in which the target's memory and CPUs are held by the move; from `resuming` on the VM's own row holds them. */
export const moveStatusesOnTarget = ["preparing", "sending", "canceling"] as const;

export function canMoveProceed(from: MoveStatus, to: MoveStatus): boolean {
  return (moveTransitions[from] as readonly MoveStatus[]).includes(to);
}
