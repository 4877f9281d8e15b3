// The life of a build as data. No schema library in here.

/** Every status, and every status it may move to. This table is the diagram; a build can be canceled in each that does not end it. */
export const buildTransitions = {
  // Its microVM starts, or it waits for its context.
  queued: ["building", "failed", "canceled"],
  // Its steps run; what they would make may be there already, once it is known what its context holds.
  building: ["sealing", "ready", "failed", "canceled"],
  // Its host makes a layer of what the steps wrote.
  sealing: ["freezing", "failed", "canceled"],
  // Its host starts the template once and keeps it as clones wake from it.
  freezing: ["ready", "failed", "canceled"],
  ready: [],
  failed: [],
  canceled: [],
} as const satisfies Record<string, readonly string[]>;

export type BuildStatus = keyof typeof buildTransitions;
// Object.keys forgets which they are.
export const buildStatuses = Object.keys(buildTransitions) as BuildStatus[];

/** It counts as one of the builds that an organization may have at once. */
export const buildStatusesUnderWay = ["queued", "building", "sealing", "freezing"] as const;

export const buildStepStatuses = ["waiting", "running", "done", "failed"] as const;
export type BuildStepStatus = (typeof buildStepStatuses)[number];

export function canBuildProceed(from: BuildStatus, to: BuildStatus): boolean {
  return (buildTransitions[from] as readonly BuildStatus[]).includes(to);
}

export function isBuildOver(status: BuildStatus): boolean {
  return buildTransitions[status].length === 0;
}
