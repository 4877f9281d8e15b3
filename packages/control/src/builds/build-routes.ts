import type { FastifyReply, FastifyRequest } from "fastify";
import type { BuildLogLine } from "@skerry/contract/builds/build-log";
import { callerOf } from "../api/authenticate-hook.ts";
import { requestSignal } from "../api/request-signal.ts";
import { routes } from "../api/routes.ts";
import { toSkerryError } from "../http/errors.ts";
import { EventStream } from "../http/event-stream.ts";
import { uploadContext } from "./build-context.ts";
import { buildCreation, buildRetry } from "./build-creation.ts";
import { getBuildEgress } from "./build-egress.ts";
import { followBuildLog, readBuildLog } from "./build-logs.ts";
import { buildOperations } from "./build-operations.ts";
import { uploadSecret } from "./build-secrets.ts";
import { getBuild, listBuildsOf } from "./builds.ts";
import { cancelBuild } from "./cancel-build.ts";
import { pushCreation } from "./push-creation.ts";

export const buildRoutes = routes(buildOperations, (context) => ({
  createTemplate: (request) => buildCreation(context, callerOf(request), { request: request.body }),
  pushTemplate: (request) => pushCreation(context, callerOf(request), request.params.template, request.body),
  listBuilds: (request) => listBuildsOf(context, callerOf(request), request.query),
  getBuild: async (request) => (await getBuild(context, callerOf(request), request.params.id)).build,
  uploadBuildContext: (request, reply) =>
    uploadContext(context, callerOf(request), {
      id: request.params.id,
      // Leaving the loop must not destroy the connection: the answer still has to go out.
      content: request.raw.iterator({ destroyOnReturn: false }),
      gone: requestSignal(reply),
    }),
  uploadBuildSecret: (request, reply) =>
    uploadSecret(context, callerOf(request), {
      ...request.params,
      content: request.raw.iterator({ destroyOnReturn: false }),
      gone: requestSignal(reply),
    }),
  getBuildEgress: (request) => getBuildEgress(context, callerOf(request), request.params.id),
  getBuildLog: async (request, reply) => {
    const { id } = request.params;
    const after = request.query.after ?? 0;
    const caller = callerOf(request);
    if (request.query.follow !== true) return readBuildLog(context, caller, { id, after });
    // An error comes before the stream begins.
    await getBuild(context, caller, id);
    using _open = context.openStreams.take(caller, { kind: { noun: "build" }, id });
    await sendLines(
      followBuildLog(context, caller, { id, after, gone: requestSignal(reply) }),
      request,
      reply,
    );
    return reply;
  },
  cancelBuild: (request) => cancelBuild(context, callerOf(request), request.params.id),
  retryBuild: (request) => buildRetry(context, callerOf(request), request.params.id),
}));

async function sendLines(
  lines: AsyncGenerator<BuildLogLine>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  await using stream = new EventStream(reply);
  try {
    for await (const line of lines) await stream.send("line", line, line.line);
    await stream.send("end", {});
  } catch (error) {
    const known = toSkerryError(error);
    if (known.code === "internal") request.log.error({ err: error }, "a followed log failed unexpectedly");
    await stream.send("error", known.toBody(request.id));
  }
}
