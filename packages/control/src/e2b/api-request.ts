// What the handlers of E2B's API share.

import type { FastifyRequest } from "fastify";
import { callerOf } from "../api/authenticate-hook.ts";
import type { Context } from "../context.ts";
import { accessTokenFor } from "./credentials.ts";
import { connectionTo, type Connection } from "./sandbox-view.ts";

export function idOf({ params }: FastifyRequest): string {
  return (params as { readonly id: string }).id;
}

/** What the caller needs to call into this sandbox. */
export async function connectionOf(
  context: Context,
  request: FastifyRequest,
  sandbox: { readonly id: string; readonly template: string },
): Promise<Connection> {
  const { orgId } = callerOf(request);
  return connectionTo(context, sandbox, await accessTokenFor(context, request, { id: sandbox.id, orgId }));
}
