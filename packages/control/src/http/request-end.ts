import type { FastifyReply } from "fastify";

declare module "fastify" {
  interface FastifyInstance {
    /** Aborts when what is still in flight must end because this process does. The reason is the error to answer. */
    readonly ending: AbortSignal;
  }
}

/**
 * Aborts when nobody should work for this request any longer: its connection has ended before its answer, or the server is ending.
 * The reason is a `SkerryError` where there is still somebody to tell it to.
 */
export function endOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const { ending } = reply.server;
  const onEnding = () => controller.abort(ending.reason);
  if (ending.aborted) onEnding();
  else ending.addEventListener("abort", onEnding, { once: true });
  reply.raw.once("close", () => {
    ending.removeEventListener("abort", onEnding);
    if (!reply.raw.writableFinished) controller.abort(new Error("the client went away"));
  });
  return controller.signal;
}
