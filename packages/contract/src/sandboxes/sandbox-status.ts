// The life of a sandbox as data. No schema library in here, so that the command line starts fast.

/** Every status, and every status it may move to. This table is the diagram. */
export const sandboxTransitions = {
  creating: ["running", "failed", "destroying"],
  // To resuming: it is rolled back to a snapshot.
  running: ["pausing", "resuming", "unreachable", "failed", "destroying"],
  // To running: its host could not pause it, and it goes on.
  pausing: ["paused", "running", "unreachable", "failed", "destroying"],
  // Its memory and its disk are files of its host.
  paused: ["resuming", "unreachable", "failed", "destroying"],
  // To paused: its host could not resume it, and still has it.
  resuming: ["running", "paused", "unreachable", "failed", "destroying"],
  // Its host has fallen silent, or cannot read its record. It may well run, or be paused, on there. To resuming: it was on its way to a snapshot.
  unreachable: ["running", "paused", "resuming", "failed", "destroying"],
  // To running: only from rows that were written before there was `unreachable`.
  failed: ["running", "destroying"],
  destroying: ["destroyed"],
  destroyed: [],
} as const satisfies Record<string, readonly string[]>;

export type SandboxStatus = keyof typeof sandboxTransitions;

export const sandboxStatuses = Object.keys(sandboxTransitions) as readonly SandboxStatus[];

/** Statuses from which a sandbox has not gone for good. */
export const sandboxStatusesAlive = [
  "creating",
  "running",
  "pausing",
  "paused",
  "resuming",
  "unreachable",
] as const satisfies readonly SandboxStatus[];

/** Statuses in which a sandbox holds memory and CPUs of its host. */
export const sandboxStatusesOnHost = ["creating", "running", "pausing", "resuming", "destroying"] as const;

export function canSandboxTransition(from: SandboxStatus, to: SandboxStatus): boolean {
  return (sandboxTransitions[from] as readonly SandboxStatus[]).includes(to);
}

/** What becomes of a sandbox when its time is over: it is destroyed, or it is paused until it is used again. */
export const sandboxModes = ["ephemeral", "persistent"] as const;
export type SandboxMode = (typeof sandboxModes)[number];
