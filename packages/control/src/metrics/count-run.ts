// What a background service has done, counted.

import type { Metrics, Outcome } from "./metrics.ts";

interface Run {
  /** Undefined where the activation threw. */
  readonly report?: { readonly examined: number; readonly changed: number; readonly failed: number };
  readonly durationMs: number;
}

export function countRun(metrics: Metrics, service: string, { report, durationMs }: Run): void {
  const outcome: Outcome = report === undefined ? "error" : "ok";
  const nowS = Date.now() / 1_000;
  metrics.serviceRuns.add(1, service, outcome);
  metrics.serviceDuration.observe(durationMs / 1_000, service);
  metrics.serviceLastRun.set(nowS, service);
  if (report === undefined) return;
  metrics.serviceLastSuccess.set(nowS, service);
  for (const result of ["examined", "changed", "failed"] as const) {
    metrics.serviceItems.add(report[result], service, result);
  }
}
