// How fake hosts read calls and answer them.

import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

export const readBody = async <T>(request: IncomingMessage): Promise<T> => (await json(request)) as T;
