import type { FastifyReply } from "fastify";

/** Aborts when the connection ends before the answer does: whoever works for this request can stop. */
export function clientGone(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) controller.abort(new Error("the client went away"));
  });
  return controller.signal;
}
