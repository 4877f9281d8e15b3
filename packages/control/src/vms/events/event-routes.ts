import { callerOf } from "../../api/authenticate-hook.ts";
import type { Handler } from "../../api/routes.ts";
import type { Context } from "../../context.ts";
import type { VmKind } from "../vm-kind.ts";
import type { listEventsOperation } from "./event-operations.ts";
import { Denials } from "./denials.ts";
import { listEvents } from "./events.ts";

export function listEventsHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof listEventsOperation>> {
  const denials = new Denials(context);
  return (request) =>
    listEvents(context, callerOf(request), { kind, id: request.params.id, page: request.query, denials });
}
