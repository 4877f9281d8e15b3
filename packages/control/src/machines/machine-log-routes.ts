// GET /v1/machines/{id}/logs: the last lines of the console, or server-sent events while there are more.

import type { FastifyReply, FastifyRequest } from "fastify";
import { CONSOLE_LINES_DEFAULT, CONSOLE_LINES_MAX } from "@skerry/contract/bounds";
import { SkerryError } from "@skerry/contract/errors";
import type { MachineLogsQuery } from "@skerry/contract/machines/machine-logs";
import { readTime } from "../values/times.ts";
import { followMachineLogs, readMachineLogs, type LogParams } from "./machine-logs.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import { toSkerryError } from "../http/errors.ts";
import { EventStream } from "../http/event-stream.ts";
import { requestSignal } from "../api/request-signal.ts";
import { routes } from "../api/routes.ts";
import { machineLogOperations } from "./machine-operations.ts";
import { machineVms } from "./machines.ts";

export const machineLogRoutes = routes(machineLogOperations, (context) => ({
  getMachineLogs: async (request, reply) => {
    const { query } = request;
    const params = { ...paramsOf(query), id: request.params.id, gone: requestSignal(reply) };
    if (query.follow !== true) return readMachineLogs(context, callerOf(request), params);
    using _open = context.openStreams.take(callerOf(request), { kind: machineVms, id: params.id });
    await sendLines(await followMachineLogs(context, callerOf(request), params), request, reply);
    return reply;
  },
}));

/** Throws where the times of the query are none. */
function paramsOf(query: MachineLogsQuery): Omit<LogParams, "id" | "gone"> {
  const { grep, follow = false, kernel = true, timestamps = false } = query;
  if (follow && query.until !== undefined)
    throw new SkerryError("bad_request", "A log that is followed does not end at a time.", {
      remediation: "Leave out `until` or `follow`.",
      context: { field: "until" },
    });
  const isSearched = grep !== undefined || query.since !== undefined || query.until !== undefined;
  return {
    ...{ grep, kernel, timestamps },
    lines: query.lines ?? (isSearched ? CONSOLE_LINES_MAX : CONSOLE_LINES_DEFAULT),
    since: query.since === undefined ? undefined : readTime("since", query.since),
    until: query.until === undefined ? undefined : readTime("until", query.until),
  };
}

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
