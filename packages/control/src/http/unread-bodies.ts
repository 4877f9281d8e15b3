import type { IncomingMessage, ServerResponse } from "node:http";

/** How long an unwanted body may go on, so that its sender gets to read the answer. */
export const LINGER_MS = 2_000;

/**
 * Ends the connection of a request that was answered before its body had come: refused, unauthorized or too large. Node would
 * read such a body to its end, however long that is; closing at once would lose the answer on its way.
 */
export function cutUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  response.once("finish", () => {
    if (request.complete) return;
    // Where a route had begun to read, Node reads no further by itself, and the client would wait on its next request. A stream
    // that still has a listener for `readable` does not flow.
    request.removeAllListeners("readable");
    // Not at once: the stream stops flowing when it has noticed that those listeners are gone.
    setImmediate(() => request.resume());
    const timer = setTimeout(() => request.socket.destroy(), LINGER_MS);
    const { socket } = request;
    const cancel = () => {
      clearTimeout(timer);
      // The connection may serve many more requests.
      socket.off("close", cancel);
    };
    socket.once("close", cancel);
    request.once("end", cancel).once("close", cancel);
  });
}
