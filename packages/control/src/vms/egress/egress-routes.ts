import type { Context } from "../../context.ts";
import { callerOf } from "../../api/authenticate-hook.ts";
import { ifMatchOf, sendVersion } from "../../http/etag.ts";
import type { Handler } from "../../api/routes.ts";
import type { getEgressOperation, setEgressOperation } from "./egress-operations.ts";
import { getEgress, setEgress } from "./egress.ts";
import type { VmKind } from "../vm-kind.ts";

export function setEgressHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof setEgressOperation>> {
  return async (request, reply) => {
    const ifMatch = ifMatchOf(request);
    const params = { kind, id: request.params.id, request: request.body, ...(ifMatch && { ifMatch }) };
    const report = await setEgress(context, callerOf(request), params);
    sendVersion(reply, report.version);
    return report;
  };
}

export function getEgressHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof getEgressOperation>> {
  return async (request, reply) => {
    const report = await getEgress(context, callerOf(request), { kind, id: request.params.id });
    sendVersion(reply, report.version);
    return report;
  };
}
