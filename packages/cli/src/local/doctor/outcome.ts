// What a check of `skerry doctor` says.

import type { Figure, Finding } from "@skerry/contract/hosts/finding";

export type Outcome = Omit<Finding, "section" | "check">;

export const ok = (found: string, figures: readonly Figure[] = []): Outcome => ({
  ...{ verdict: "ok", found, remedy: "", figures: [...figures] },
});
/** It does not keep VMs from running. */
export const warning = (found: string, remedy: string): Outcome => ({
  ...{ verdict: "warning", found, remedy, figures: [] },
});
export const fault = (found: string, remedy: string): Outcome => ({
  ...{ verdict: "fault", found, remedy, figures: [] },
});
export const notTried = (why: string): Outcome => ({
  ...{ verdict: "not_tried", found: why, remedy: "", figures: [] },
});
