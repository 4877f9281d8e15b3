import type { FastifyReply } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import { watchAccess } from "./authenticate-hook.ts";

declare module "fastify" {
  interface FastifyInstance {
    /** Aborts when what is still in flight must end because this process does. The reason is the error to answer. */
    readonly ending: AbortSignal;
  }
}

/** What a client that reads gets to see before its connection is cut: an answer, or the last event of a stream. */
const LAST_WORD_MS = 500;

/**
 * Aborts when the work for this request should stop: its connection has ended before its answer, its caller may not go on,
 * or the server is ending. The reason is a `SkerryError`; `canceled` where the client itself has left. For requests that last.
 */
export function requestSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const { ending } = reply.server;
  const onEnding = () => controller.abort(ending.reason);
  if (ending.aborted) onEnding();
  else ending.addEventListener("abort", onEnding, { once: true });
  const watch = watchAccess(reply.request, (reason) => {
    controller.abort(reason);
    // A client that does not read would otherwise keep it open.
    setTimeout(() => reply.raw.destroy(), LAST_WORD_MS).unref();
  });
  reply.raw.once("close", () => {
    watch?.[Symbol.dispose]();
    ending.removeEventListener("abort", onEnding);
    if (!reply.raw.writableFinished) controller.abort(clientWentAway());
  });
  return controller.signal;
}

/** An expected end: what the client left has not failed. */
function clientWentAway(): SkerryError {
  return new SkerryError("canceled", "The client went away.");
}
