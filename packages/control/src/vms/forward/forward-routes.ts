// GET /v1/…/{id}/forward: connections to one port of a VM, many over one WebSocket.

import { FORWARD_PROTOCOL } from "@skerry/contract/vms/forward";
import { recordBegun } from "../../api/audit-hook.ts";
import { callerOf } from "../../api/authenticate-hook.ts";
import { requestSignal } from "../../api/request-signal.ts";
import type { Handler } from "../../api/routes.ts";
import type { Context } from "../../context.ts";
import { checkUpgrade, upgrade } from "../../http/upgrades.ts";
import { connectPort } from "../ports/connect-port.ts";
import { portError } from "../ports/ports.ts";
import { callVm, vmError, type VmKind } from "../vm-kind.ts";
import type { forwardPortOperation } from "./forward-operations.ts";
import { runForward } from "./forward-session.ts";
import { isOver, watchVm } from "./watch-vm.ts";

export function forwardPortHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof forwardPortOperation>> {
  return async (request, reply) => {
    const caller = callerOf(request);
    const { port } = request.query;
    const ref = { kind, id: request.params.id };
    // First, so that a stranger is told no more than by any other call.
    const row = await kind.get(context, caller, ref.id);
    if (isOver(kind, row)) throw kind.notRunning(row);
    checkUpgrade(request, FORWARD_PROTOCOL);
    using _open = context.openForwards.take(caller, ref);
    const gone = requestSignal(reply);
    await recordBegun(context, request);
    reply.hijack();
    const socket = await upgrade(request, FORWARD_PROTOCOL);
    using vm = watchVm(context, caller, ref);
    await runForward(socket, {
      ended: AbortSignal.any([gone, vm.ended]),
      connect: async (left) => {
        try {
          return await callVm(context, caller, ref, (vm, client) =>
            connectPort(context, caller, { kind, vm, client, port }, left),
          );
        } catch (error) {
          throw portError(await vmError(context, caller, ref, error), { kind, port });
        }
      },
      // What was cut off was mostly cut off with its guest, whose row says why.
      lost: async (error) => portError(await vmError(context, caller, ref, error), { kind, port }),
    });
    return reply;
  };
}
