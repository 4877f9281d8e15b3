// The life of a sandbox as data. No schema library in here, so that the command line starts fast.

/** Every status, and every status it may move to. This table is the diagram. */
export const sandboxTransitions = {
  creating: ["running", "failed", "destroying"],
  running: ["unreachable", "failed", "destroying"],
  // Its host has fallen silent, or cannot read its record. It may well run on there.
  unreachable: ["running", "failed", "destroying"],
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
  "unreachable",
] as const satisfies readonly SandboxStatus[];

/** Statuses in which a sandbox holds memory and CPUs of its host. */
export const sandboxStatusesOnHost = ["creating", "running", "destroying"] as const;

export function canSandboxTransition(from: SandboxStatus, to: SandboxStatus): boolean {
  return (sandboxTransitions[from] as readonly SandboxStatus[]).includes(to);
}
