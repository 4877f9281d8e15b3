import type { ServerResponse } from "node:http";

/** Aborts when the caller leaves before the end of its answer, also where it has left already. */
export function leftBy(response: ServerResponse): AbortSignal {
  const left = new AbortController();
  response.once("close", () => left.abort());
  if (response.destroyed) left.abort();
  return left.signal;
}
