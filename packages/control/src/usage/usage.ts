import { formatDuration } from "@skerry/contract/durations";
import { SkerryError } from "@skerry/contract/errors";
import {
  USAGE_KEPT_DAYS,
  USAGE_MINUTES_KEPT_DAYS,
  USAGE_STEP_DEFAULT_MS,
  USAGE_STEP_MAX_MS,
  USAGE_STEP_MIN_MS,
  USAGE_STEPS_MAX,
  type Usage,
  type UsageQuery,
} from "@skerry/contract/usage/usage";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Database } from "../db/database.ts";
import { readDurationWithin } from "../values/durations.ts";
import { readTime } from "../values/times.ts";
import { forgetUsage, mergeUsage, usageSteps, type UsageRange } from "./usage-store.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;

export async function readUsage(context: Context, { orgId }: Caller, query: UsageQuery): Promise<Usage> {
  const { stepMs, ...range } = rangeOf(query);
  const steps = await usageSteps(context.db, { orgId, ...range });
  const items = steps.map(({ minute, memory_mib, disk_gib, denied, ...counts }) => ({
    at: new Date(minute * MINUTE_MS).toISOString(),
    ...counts,
    ...{ memory_mib: Number(memory_mib), disk_gib: Number(disk_gib), denied: Number(denied) },
  }));
  return { step: formatDuration(stepMs), items };
}

function rangeOf({
  since,
  until,
  step,
}: UsageQuery): Omit<UsageRange, "orgId"> & { readonly stepMs: number } {
  const bounds = { minMs: USAGE_STEP_MIN_MS, maxMs: USAGE_STEP_MAX_MS };
  const stepMs = step === undefined ? USAGE_STEP_DEFAULT_MS : readDurationWithin("step", step, bounds);
  if (stepMs % MINUTE_MS !== 0) {
    throw new SkerryError("invalid_duration", '"step" is not a number of whole minutes.', {
      remediation: "Usage is measured once a minute: ask for steps such as 1m, 10m or 1h.",
      context: { field: "step" },
    });
  }
  const nowMs = Date.now();
  const untilMs = until === undefined ? nowMs : Math.min(readTime("until", until).getTime(), nowMs + DAY_MS);
  const askedMs = since === undefined ? untilMs - DAY_MS : readTime("since", since).getTime();
  // What is older is not there.
  const sinceMs = Math.max(askedMs, nowMs - (USAGE_KEPT_DAYS + 1) * DAY_MS);
  if ((untilMs - sinceMs) / stepMs > USAGE_STEPS_MAX) {
    throw new SkerryError("bad_request", `These are more than ${USAGE_STEPS_MAX} steps.`, {
      remediation: "Ask for longer steps, or for a shorter time.",
      context: { field: "step", max: USAGE_STEPS_MAX },
    });
  }
  const stepMinutes = stepMs / MINUTE_MS;
  // Steps are whole: the first is the one that `since` is in.
  const from = Math.floor(sinceMs / stepMs) * stepMinutes;
  return { from, to: Math.max(from, Math.ceil(untilMs / stepMs) * stepMinutes), stepMinutes, stepMs };
}

/** Merges and deletes what is old, at most `batch` rows of each; returns how many of which it was more. */
export async function sweepUsage(db: Database, batch: number): Promise<number> {
  const merged = await mergeUsage(db, USAGE_MINUTES_KEPT_DAYS, batch);
  return Math.max(merged, await forgetUsage(db, USAGE_KEPT_DAYS, batch));
}
