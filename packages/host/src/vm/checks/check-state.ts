// State of a check after a verdict. Pure.

import type { CheckState, HostCheck } from "@skerry/contract/host-api/checks";
import type { Verdict } from "./run-check.ts";

export interface Counted extends Pick<CheckState, "status" | "since" | "reason" | "last_checked_at"> {
  /** Failures in a row that count. */
  readonly failed: number;
}

export function begunAt(at: Date): Counted {
  return { status: "starting", since: at.toISOString(), reason: null, last_checked_at: null, failed: 0 };
}

/** `inGrace`: its start is not so long ago that failures count before the first check that passes. */
export function afterCheck(
  before: Counted,
  verdict: Verdict,
  { failures, at, inGrace }: Pick<HostCheck, "failures"> & { readonly at: Date; readonly inGrace: boolean },
): Counted {
  const checked = { last_checked_at: at.toISOString() };
  const since = (status: Counted["status"]) => (status === before.status ? before.since : at.toISOString());
  if (verdict === undefined)
    return { ...checked, status: "passing", since: since("passing"), reason: null, failed: 0 };
  const failed = before.status === "starting" && inGrace ? 0 : before.failed + 1;
  const status = failed >= failures ? "failing" : before.status;
  const reason = status === "passing" ? null : verdict;
  return { ...checked, status, since: since(status), reason, failed };
}
