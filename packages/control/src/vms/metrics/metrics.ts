// What a VM has used over time. Its host measures it and keeps that beside its disk, so control asks the host where the VM is now.

import { formatDuration } from "@skerry/contract/durations";
import { SkerryError } from "@skerry/contract/errors";
import { SAMPLES_KEPT_MS, type VmSamples } from "@skerry/contract/host-api/metrics";
import {
  METRICS_STEP_DEFAULT_MS,
  METRICS_STEP_MIN_MS,
  type VmMetrics,
  type VmMetricsQuery,
} from "@skerry/contract/vms/metrics";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { readDurationWithin } from "../../values/durations.ts";
import { readTime } from "../../values/times.ts";
import { clientOf, type VmRef, type VmRow } from "../vm-kind.ts";
import { metricsPoints } from "./metrics-points.ts";

const stepBounds = { minMs: METRICS_STEP_MIN_MS, maxMs: SAMPLES_KEPT_MS };

/** Does not count as a use of it. */
export async function readMetrics(
  context: Context,
  caller: Caller,
  { kind, id, query }: VmRef & { readonly query: VmMetricsQuery },
): Promise<VmMetrics> {
  const stepMs =
    query.step === undefined ? METRICS_STEP_DEFAULT_MS : readDurationWithin("step", query.step, stepBounds);
  const sinceMs = query.since === undefined ? 0 : readTime("since", query.since).getTime();
  const row = await kind.get(context, caller, id);
  const { items, damaged } = await samplesOf(context, row, sinceMs);
  return { step: formatDuration(stepMs), items: metricsPoints(items, { sinceMs, stepMs }), damaged };
}

/** None of one whose files are gone. */
async function samplesOf(context: Context, row: VmRow, sinceMs: number): Promise<VmSamples> {
  if (row.status === "destroyed") return { items: [], damaged: 0 };
  const client = await clientOf(context, row);
  return client.metrics.samples(row.id, sinceMs).catch((error: unknown) => {
    if (!(error instanceof SkerryError)) throw error;
    if (error.code === "vm_not_found") return { items: [], damaged: 0 };
    if (error.code !== "not_found") throw error;
    throw new SkerryError("host_unavailable", "The host runs a version of Skerry that measures no VMs.", {
      remediation: "Upgrade the host.",
      cause: error,
    });
  });
}
