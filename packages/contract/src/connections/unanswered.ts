// Requests that a client sends without waiting for the answers to those before. Node has each of them served
// as soon as it has read it, so one connection could have thousands served at once. Beyond a bound the
// connection is closed: usual clients wait for each answer, and what Node has read cannot be put back.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that may be unanswered at once: more than clients send ahead, of which apt is
 *  the most eager with ten. */
export const UNANSWERED_MAX = 16;

export type RequestListener<Request extends IncomingMessage, Response extends ServerResponse<Request>> = (
  request: Request,
  response: Response,
) => void;

/** A field of the socket, as in `doors.ts`. */
const UNANSWERED = Symbol("unanswered");

interface AskedSocket {
  [UNANSWERED]?: number;
}

/** The listener, without what comes on a connection beyond the bound. `close` must destroy the socket. */
export function boundUnanswered<Request extends IncomingMessage, Response extends ServerResponse<Request>>(
  listener: RequestListener<Request, Response>,
  close: (socket: Socket) => void = (socket) => void socket.destroy(),
): RequestListener<Request, Response> {
  return (request, response) => {
    const { socket } = request;
    // Node goes on with what it has read of a connection that is closed.
    if (socket.destroyed) return;
    const asked = socket as AskedSocket;
    const unanswered = asked[UNANSWERED] ?? 0;
    if (unanswered >= UNANSWERED_MAX) return close(socket);
    asked[UNANSWERED] = unanswered + 1;
    response.once("close", () => {
      asked[UNANSWERED] = (asked[UNANSWERED] ?? 1) - 1;
    });
    listener(request, response);
  };
}
