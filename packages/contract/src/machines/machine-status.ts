// The life of a machine as data. No schema library in here, so that the command line starts fast.

/** Every status, and every status it may move to. This table is the diagram. */
export const machineTransitions = {
  creating: ["running", "failed", "destroying"],
  running: ["stopping", "stopped", "failed", "destroying"],
  // To running: its host could not stop it, and it goes on.
  stopping: ["stopped", "running", "failed", "destroying"],
  // To failed: its host cannot use its disk.
  stopped: ["starting", "failed", "destroying"],
  starting: ["running", "failed", "destroying"],
  // To running: its host was taken for dead, and came back with it.
  failed: ["starting", "running", "stopped", "destroying"],
  destroying: ["destroyed"],
  destroyed: [],
} as const satisfies Record<string, readonly string[]>;

export type MachineStatus = keyof typeof machineTransitions;

export const machineStatuses = Object.keys(machineTransitions) as readonly MachineStatus[];

/** Statuses in which a machine has its disk, so that it can be started again. */
export const machineStatusesAlive = [
  "creating",
  "running",
  "stopping",
  "stopped",
  "starting",
  "failed",
] as const satisfies readonly MachineStatus[];

/** What its owner wants of a machine; that it should be destroyed is told by its status, because nothing comes after it. */
export const machineDesiredStates = ["running", "stopped"] as const;
export type MachineDesired = (typeof machineDesiredStates)[number];

/** Statuses in which a machine holds memory and CPUs of its host. Its disk it holds until it is destroyed. */
export const machineStatusesOnHost = ["creating", "running", "stopping", "starting", "destroying"] as const;

/** `on-failure`: when it ended otherwise than by its main process exiting with 0. */
export const restartPolicies = ["no", "on-failure", "always"] as const;
export type RestartPolicy = (typeof restartPolicies)[number];

/** What becomes of its disk when its host is lost. `keep`: the machine waits for the host. `disposable`: it is started on another host with a
 *  new disk. */
export const restartDisks = ["keep", "disposable"] as const;
export type RestartDisk = (typeof restartDisks)[number];

/** A machine that ran for this long, in seconds, was well: what it had tried before counts no more. */
export const HEALTHY_AFTER_S = 10 * 60;

/**
 * A machine that its policy has started again so often without ten healthy minutes in between is in a crash
 * loop.
 */
export const CRASH_LOOP_RESTARTS = 3;

/** The pause before a machine is started again: it doubles from the first to the longest. Half of each is chance. */
export const BACKOFF_FIRST_S = 1;
export const BACKOFF_MAX_S = 5 * 60;

export function canMachineTransition(from: MachineStatus, to: MachineStatus): boolean {
  return (machineTransitions[from] as readonly MachineStatus[]).includes(to);
}
