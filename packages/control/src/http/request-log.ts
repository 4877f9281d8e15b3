// One line per request, when its connection is done with it. It names the path, never the query, a header or a body.

import type { Logger } from "pino";
import type { CountedRequest, CountedResponse } from "./messages.ts";

/** What nginx writes for a client that went away before the answer. */
const CLIENT_CLOSED = 499;

export function logRequest(log: Logger, request: CountedRequest, response: CountedResponse): void {
  const startedAt = performance.now();
  response.once("close", () => {
    const answered = response.headersSent;
    log.info(
      {
        request_id: request.requestId,
        method: request.method,
        path: pathOf(request.url ?? ""),
        status: answered ? response.statusCode : CLIENT_CLOSED,
        duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
        bytes: request.method === "HEAD" ? 0 : response.bodyBytes,
        bytes_in: request.bodyBytes,
        ...(answered && !response.writableFinished ? { aborted: true } : {}),
      },
      "request",
    );
  });
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}
