// How far a deploy has come. It goes forward only, and each status that is no end has a deadline together
// with the others: the deploy's `timeout`, which begins when what it deploys is built.

export const deployStatuses = [
  "queued",
  "building",
  "releasing",
  "starting",
  "checking",
  "switching",
  "draining",
  "live",
  "failed",
  "canceled",
  "superseded",
  "rolled_back",
] as const;
export type DeployStatus = (typeof deployStatuses)[number];

export const deployStrategies = ["rolling", "bluegreen", "canary", "immediate"] as const;

const next: Readonly<Record<DeployStatus, readonly DeployStatus[]>> = {
  queued: ["building", "releasing", "starting", "failed", "canceled", "superseded"],
  building: ["releasing", "starting", "failed", "canceled", "superseded"],
  releasing: ["starting", "failed", "canceled", "superseded"],
  starting: ["checking", "switching", "draining", "live", "failed", "canceled", "superseded"],
  checking: ["switching", "draining", "live", "failed", "canceled", "superseded"],
  switching: ["draining", "live", "failed", "canceled", "superseded"],
  draining: ["live", "failed", "canceled", "superseded"],
  live: ["rolled_back"],
  failed: [],
  canceled: [],
  superseded: [],
  rolled_back: [],
};

export function canDeployProceed(from: DeployStatus, to: DeployStatus): boolean {
  return next[from].includes(to);
}

/** Nothing of its release serves yet, and no instance of it has been started. */
export function isDeployPrepared(status: DeployStatus): boolean {
  return !["queued", "building", "releasing"].includes(status);
}

export function isDeployOver(status: DeployStatus): boolean {
  return status === "live" || next[status].length === 0;
}
