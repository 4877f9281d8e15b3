// GET /v1/apps/{id}/logs: lines, or server-sent events while there are more.

import type { FastifyReply, FastifyRequest } from "fastify";
import { callerOf } from "../../api/authenticate-hook.ts";
import { requestSignal } from "../../api/request-signal.ts";
import { routes } from "../../api/routes.ts";
import { toSkerryError } from "../../http/errors.ts";
import { EventStream } from "../../http/event-stream.ts";
import { appLogOperations } from "./app-log-operations.ts";
import { readAppLogs } from "./app-logs.ts";
import { followAppLogs, type Told } from "./follow-app-logs.ts";

export const appLogRoutes = routes(appLogOperations, (context) => ({
  getAppLogs: async (request, reply) => {
    const caller = callerOf(request);
    const { id } = request.params;
    const params = { id, query: request.query, gone: requestSignal(reply) };
    if (request.query.follow !== true) return readAppLogs(context, caller, params);
    const told = await followAppLogs(context, caller, params);
    using _open = context.openStreams.take(caller, { kind: { noun: "app" }, id });
    await sendTold(told, request, reply);
    return reply;
  },
}));

async function sendTold(
  told: AsyncGenerator<Told>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  await using stream = new EventStream(reply);
  try {
    for await (const { event, data } of told) await stream.send(event, data);
  } catch (error) {
    const known = toSkerryError(error);
    if (known.code === "internal") request.log.error({ err: error }, "a followed log failed unexpectedly");
    await stream.send("error", known.toBody(request.id));
  }
}
