// How a background service is doing, which its status alone does not say. Pure.

import type { BackgroundService } from "@skerry/sdk";

/** Past its time by so much, no replica has taken it: each looks several times within this. */
export const LATE_AFTER_MS = 60_000;

export type ServiceCondition =
  | "running"
  /** It broke off. */
  | "failed"
  /** It could do nothing about some of what it looked at. */
  | "incomplete"
  /** It is past its time, and does not run. */
  | "late"
  | "never_ran"
  | "waiting";

export function serviceCondition(service: BackgroundService, nowMs: number): ServiceCondition {
  const { status, due_at: due, last_run: run } = service;
  if (status === "running") return "running";
  if (due !== null && nowMs - Date.parse(due) > LATE_AFTER_MS) return "late";
  if (run === null) return "never_ran";
  if (run.outcome === "failure") return "failed";
  return (run.failed ?? 0) > 0 ? "incomplete" : "waiting";
}
