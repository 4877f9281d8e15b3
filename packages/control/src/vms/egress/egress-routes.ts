import type { Context } from "../../context.ts";
import { callerOf } from "../../api/authenticate-hook.ts";
import type { Handler } from "../../api/routes.ts";
import type { getEgressOperation, setEgressOperation } from "./egress-operations.ts";
import { getEgress, setEgress } from "./egress.ts";
import type { VmKind } from "../vm-kind.ts";

export function setEgressHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof setEgressOperation>> {
  return (request) =>
    setEgress(context, callerOf(request), { kind, id: request.params.id, request: request.body });
}

export function getEgressHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof getEgressOperation>> {
  return (request) => getEgress(context, callerOf(request), { kind, id: request.params.id });
}
