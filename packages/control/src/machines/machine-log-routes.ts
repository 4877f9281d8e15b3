// GET /v1/machines/{id}/logs: the last lines of the console, or server-sent events while there are more.

import type { FastifyReply, FastifyRequest } from "fastify";
import { CONSOLE_LINES_DEFAULT, CONSOLE_LINES_MAX } from "@skerry/contract/bounds";
import { followMachineLogs, readMachineLogs } from "./machine-logs.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import { toSkerryError } from "../http/errors.ts";
import { EventStream } from "../http/event-stream.ts";
import { requestSignal } from "../api/request-signal.ts";
import { routes } from "../api/routes.ts";
import { machineLogOperations } from "./machine-operations.ts";
import { machineVms } from "./machines.ts";

export const machineLogRoutes = routes(machineLogOperations, (context) => ({
  getMachineLogs: async (request, reply) => {
    const { grep } = request.query;
    const params = {
      id: request.params.id,
      lines: request.query.lines ?? (grep === undefined ? CONSOLE_LINES_DEFAULT : CONSOLE_LINES_MAX),
      grep,
      gone: requestSignal(reply),
    };
    if (request.query.follow !== true) return readMachineLogs(context, callerOf(request), params);
    using _open = context.openStreams.take(callerOf(request), { kind: machineVms, id: params.id });
    await sendLines(await followMachineLogs(context, callerOf(request), params), request, reply);
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
