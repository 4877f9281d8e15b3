// Bounds of health checks. No schema library in here, so that the command line starts fast.

export const CHECK_INTERVAL_DEFAULT_MS = 10_000;
export const CHECK_INTERVAL_MIN_MS = 1_000;
export const CHECK_INTERVAL_MAX_MS = 60 * 60_000;
export const CHECK_TIMEOUT_DEFAULT_MS = 5_000;
export const CHECK_TIMEOUT_MIN_MS = 100;
export const CHECK_TIMEOUT_MAX_MS = 60_000;
export const CHECK_FAILURES_DEFAULT = 3;
export const CHECK_FAILURES_MAX = 100;
export const CHECK_GRACE_DEFAULT_MS = 30_000;
export const CHECK_GRACE_MAX_MS = 60 * 60_000;
export const CHECK_PATH_MAX_CHARS = 2_000;
export const CHECK_COMMAND_MAX_CHARS = 4_000;
export const CHECK_REASON_MAX_CHARS = 200;

/**
 * `starting`: it has not passed yet, and its grace is not over. `failing`: as many checks in a row have
 * failed
 * as `failures` says, and none has passed since. `unknown`: no host checks it now.
 */
export const healthStatuses = ["passing", "failing", "starting", "unknown"] as const;
export type HealthStatus = (typeof healthStatuses)[number];
