// GET /v1/events: a page of what has changed, or server-sent events as long as the client stays.

import type { FastifyReply, FastifyRequest } from "fastify";
import { PAGE_DEFAULT } from "@skerry/contract/bounds";
import { callerOf, confirmedCallerOf } from "../api/authenticate-hook.ts";
import { requestSignal } from "../api/request-signal.ts";
import { routes } from "../api/routes.ts";
import { toSkerryError } from "../http/errors.ts";
import { EventStream } from "../http/event-stream.ts";
import { parseCursor } from "./event-cursor.ts";
import { EventFeed } from "./event-feed.ts";
import { readableSources } from "./event-sources.ts";
import { eventOperations } from "./event-operations.ts";
import { followEvents } from "./follow-events.ts";
import { readEvents } from "./read-events.ts";

export const eventRoutes = routes(eventOperations, (context) => {
  const feed = new EventFeed(context);
  return {
    followEvents: async (request, reply) => {
      const caller = callerOf(request);
      const { kind, limit = PAGE_DEFAULT } = request.query;
      const sources = readableSources(caller, kind);
      const after = cursorOf(request);
      if (request.headers.accept?.includes("text/event-stream") !== true) {
        const { orgId } = caller;
        const { events, cursor, more, reset } = await readEvents(context, { orgId, sources, after, limit });
        // Each item is of another shape, which a compiled serializer would have to try one by one.
        reply.type("application/json; charset=utf-8").serializer((answer) => JSON.stringify(answer));
        return { items: events.map(({ shownTo }) => shownTo(caller)), cursor, more, reset };
      }
      using _place = feed.open(caller);
      const gone = requestSignal(reply);
      const confirm = () => confirmedCallerOf(request);
      await sendEvents(followEvents(feed, { kind, after, gone, confirm }), request, reply);
      return reply;
    },
  };
});

/** What a browser's EventSource sends when it comes back is newer than what its address has. */
function cursorOf({
  query,
  headers,
}: FastifyRequest<{ Querystring: { after?: string } }>): string | undefined {
  const sent = headers["last-event-id"];
  const after = typeof sent === "string" && sent !== "" ? sent : query.after;
  if (after === undefined || after === "latest") return undefined;
  parseCursor(after);
  return after;
}

async function sendEvents(
  events: ReturnType<typeof followEvents>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  await using stream = new EventStream(reply);
  try {
    for await (const { event, data, id } of events) await stream.send(event, data, id);
  } catch (error) {
    const known = toSkerryError(error);
    if (known.code === "internal")
      request.log.error({ err: error }, "a stream of events failed unexpectedly");
    await stream.send("error", known.toBody(request.id));
  }
}
