// What a sandbox or a machine has used over time.

import { VmMetrics, VmMetricsQuery } from "@skerry/contract/vms/metrics";
import type { Operation } from "../../api/operation.ts";
import type { VmKind } from "../vm-kind.ts";
import { vmPath } from "../vm-path.ts";

export function getVmMetricsOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "GET",
    path: `/v1/${table}/:id/metrics`,
    tag: table,
    summary: `Get the metrics of a ${noun}`,
    description:
      "CPU, memory, disk and network over time. Its host measures it once a minute while it runs, and keeps that for 24 hours, until it is destroyed or moved to another host.",
    ...vmPath(kind),
    query: VmMetricsQuery,
    answers: { 200: VmMetrics },
    access: { scope: `${table}:read`, role: "viewer", rate: "read" },
    audit: { action: `${noun}.metrics.get`, resource: noun },
    errors: [`${noun}_not_found`, "host_unavailable", "invalid_duration", "timeout_too_long"],
  } as const satisfies Operation;
}
