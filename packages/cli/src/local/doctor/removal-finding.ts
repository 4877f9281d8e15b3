import type { Finding } from "@skerry/contract/hosts/finding";
import type { Traces } from "@skerry/contract/hosts/machine-report";

/** Whether all that was made is gone. */
export function removalFinding(left: readonly string[], traces: readonly Traces[]): Finding {
  const made = traces.map(({ kind, during }) => `${during} ${kind}`).join(", ");
  const section = { section: "removal", check: "everything removed", figures: [] };
  if (left.length === 0)
    return { ...section, verdict: "ok", found: `nothing is left of ${made}`, remedy: "" };
  return {
    ...section,
    ...{ verdict: "fault", found: `left: ${left.join("; ")}` },
    remedy: "Remove it by hand, and report it with this file.",
  };
}
