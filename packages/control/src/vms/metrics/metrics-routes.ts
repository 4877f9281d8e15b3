import { callerOf } from "../../api/authenticate-hook.ts";
import type { Handler } from "../../api/routes.ts";
import type { Context } from "../../context.ts";
import type { VmKind } from "../vm-kind.ts";
import type { getVmMetricsOperation } from "./metrics-operations.ts";
import { readMetrics } from "./metrics.ts";

export function getVmMetricsHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof getVmMetricsOperation>> {
  return (request) =>
    readMetrics(context, callerOf(request), { kind, id: request.params.id, query: request.query });
}
