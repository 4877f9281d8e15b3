// GET /v1/machines/{id}/logs: the last lines of the console, or server-sent events while there are more.

import type { FastifyReply, FastifyRequest } from "fastify";
import { CONSOLE_LINES_DEFAULT } from "@skerry/contract/limits";
import { MachineLogs, MachineLogsQuery } from "@skerry/contract/machines";
import type { Context } from "../context.ts";
import { followLogs, readLogs } from "./machine-logs.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import { toSkerryError } from "../http/errors.ts";
import { EventStream } from "../http/event-stream.ts";
import { endOf } from "../api/request-lifetime.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";
import { vmParams } from "../vms/vm-resource.ts";

const MachineParams = vmParams("machine");

export function machineLogRoutes(context: Context): Routes {
  return (app, _options, done) => {
    app.get(
      "/v1/machines/:id/logs",
      {
        // HEAD would have the host read for nothing, or follow for ever.
        exposeHeadRoute: false,
        schema: {
          operationId: "getMachineLogs",
          tags: ["machines"],
          summary: "The console log of a machine: what its main process and its kernel have printed",
          description:
            "The log outlives restarts; of a long one the beginning is gone. With `follow=true` the answer is a stream of server-sent " +
            'events: `line` with the data `{"line": "…"}`, first the last `lines` and then each as it comes, until the machine is ' +
            "destroyed, which is one `end`; or one `error` with an `Error`. A comment every 15 s keeps the connection alive.",
          params: MachineParams,
          querystring: MachineLogsQuery,
          response: { 200: ref(MachineLogs) },
        },
      },
      async (request, reply) => {
        const wish = {
          id: request.params.id,
          lines: request.query.lines ?? CONSOLE_LINES_DEFAULT,
          gone: endOf(reply),
        };
        if (request.query.follow !== true) return readLogs(context, callerOf(request), wish);
        await sendLines(await followLogs(context, callerOf(request), wish), request, reply);
        return reply;
      },
    );
    done();
  };
}

async function sendLines(
  lines: AsyncGenerator<string>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  reply.hijack();
  await using stream = new EventStream(reply.raw);
  try {
    for await (const line of lines) await stream.send("line", { line });
    await stream.send("end", {});
  } catch (error) {
    const known = toSkerryError(error);
    if (known.code === "internal") request.log.error({ err: error }, "a followed log failed unexpectedly");
    await stream.send("error", known.toBody(request.id));
  }
}
