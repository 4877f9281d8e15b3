// The life of a host as data. No schema library in here, so that the command line starts fast.

/** Every status, and every status it may move to. This table is the diagram. */
export const hostTransitions = {
  online: ["offline", "draining"],
  // A host that comes back goes on with what it was at: to draining where its drain had begun.
  offline: ["online", "draining"],
  draining: ["maintenance", "online", "offline"],
  // Silence changes nothing here: in maintenance a machine may well be off.
  maintenance: ["online"],
} as const satisfies Record<string, readonly string[]>;

export type HostStatus = keyof typeof hostTransitions;

export const hostStatuses = Object.keys(hostTransitions) as readonly HostStatus[];

/** What the operator wants of a host. */
export const hostDesiredStates = ["active", "drained"] as const;
export type HostDesired = (typeof hostDesiredStates)[number];

/** A host that was silent for this long is offline, in seconds; the interface's figure. */
export const HOST_OFFLINE_AFTER_S = 30;

export function canHostTransition(from: HostStatus, to: HostStatus): boolean {
  return (hostTransitions[from] as readonly HostStatus[]).includes(to);
}
