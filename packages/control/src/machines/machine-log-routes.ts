// GET /v1/machines/{id}/logs: the last lines of the console, or server-sent events while there are more.

import type { FastifyReply, FastifyRequest } from "fastify";
import { CONSOLE_LINES_DEFAULT } from "@skerry/contract/limits";
import { followLogs, readLogs } from "./machine-logs.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import { toSkerryError } from "../http/errors.ts";
import { EventStream } from "../http/event-stream.ts";
import { endOf } from "../api/request-lifetime.ts";
import { routes } from "../api/routes.ts";
import { machineLogOperations } from "./machine-operations.ts";

export const machineLogRoutes = routes(machineLogOperations, (context) => ({
  getMachineLogs: async (request, reply) => {
    const wish = {
      id: request.params.id,
      lines: request.query.lines ?? CONSOLE_LINES_DEFAULT,
      gone: endOf(reply),
    };
    if (request.query.follow !== true) return readLogs(context, callerOf(request), wish);
    await sendLines(await followLogs(context, callerOf(request), wish), request, reply);
    return reply;
  },
}));

async function sendLines(
  lines: AsyncGenerator<string>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  await using stream = new EventStream(reply);
  try {
    for await (const line of lines) await stream.send("line", { line });
    await stream.send("end", {});
  } catch (error) {
    const known = toSkerryError(error);
    if (known.code === "internal") request.log.error({ err: error }, "a followed log failed unexpectedly");
    await stream.send("error", known.toBody(request.id));
  }
}
