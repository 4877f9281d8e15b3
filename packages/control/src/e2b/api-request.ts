// What the handlers of E2B's API share.

import type { FastifyRequest } from "fastify";
import { callerOf } from "../api/authenticate-hook.ts";
import type { Context } from "../context.ts";
import { trafficTokenOf } from "../vms/signed-urls/traffic-token.ts";
import { accessTokenFor } from "./credentials.ts";
import { mayOpenPorts } from "./port-options.ts";
import { sandboxIdIn } from "./sandbox-ids.ts";
import { connectionTo, type Connection } from "./sandbox-view.ts";
import { templateIds } from "./template-ids.ts";
import { noteTemplateOf } from "./template-starts.ts";

export function idOf({ params }: FastifyRequest): string {
  return sandboxIdIn((params as { readonly id: string }).id);
}

/** What the caller needs to call into this sandbox. `isClosed`: its ports need its traffic access token. */
export async function connectionOf(
  context: Context,
  request: FastifyRequest,
  sandbox: { readonly id: string; readonly template: string },
  isClosed: boolean,
): Promise<Connection> {
  const caller = callerOf(request);
  const { orgId } = caller;
  noteTemplateOf(context, orgId, sandbox);
  // It opens the ports to all who have it, so it is told to those who could open them.
  const trafficAccessToken =
    isClosed && mayOpenPorts(caller) ? await trafficTokenOf(context, sandbox.id) : null;
  const envdAccessToken = await accessTokenFor(context, request, { id: sandbox.id, orgId });
  const idOf = await templateIds(context, caller, [sandbox.template]);
  return connectionTo(
    context,
    { ...sandbox, template: idOf(sandbox.template) },
    { envdAccessToken, trafficAccessToken },
  );
}
