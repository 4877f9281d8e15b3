// One line per request, when its connection is done with it. It names who called, and of the path only what is ours: its words and its
// ids. The rest (names of files, and anything that a client mistook for a path) may be a secret, and so may the query, headers and bodies.

import type { Logger } from "pino";
import { idKinds } from "@skerry/contract/ids";
import type { CountedRequest, CountedResponse } from "./counted-request.ts";

/** What nginx writes for a client that went away before the answer. */
const CLIENT_CLOSED = 499;
const SWITCHING_PROTOCOLS = 101;

/** What the request ended with, as far as its client can have seen it. */
export function statusOf(response: CountedResponse): number {
  if (response.isUpgraded) return SWITCHING_PROTOCOLS;
  return response.headersSent ? response.statusCode : CLIENT_CLOSED;
}

export function logRequest(log: Logger, request: CountedRequest, response: CountedResponse): void {
  const { caller } = request;
  log.info(
    {
      request_id: request.requestId,
      method: request.method,
      path: shownPath(request.url ?? "", request.pattern, request.resourceId),
      status: statusOf(response),
      ...(request.errorCode === undefined ? {} : { code: request.errorCode }),
      duration_ms: Math.round(request.ageMs * 10) / 10,
      bytes: request.method === "HEAD" ? 0 : response.bodyBytes,
      bytes_in: request.bodyBytes,
      ...(caller === undefined ? {} : { org_id: caller.orgId, token_id: caller.tokenId }),
      ...(response.headersSent && !response.writableFinished ? { aborted: true } : {}),
    },
    "request",
  );
}

const UNKNOWN = "unknown";
const ID = new RegExp(`^(?:${Object.values(idKinds).join("|")})_[0-9a-z]{26}$`);

/** The pattern of the route with its ids filled in; for a name the id that it stands for, where there is one. */
function shownPath(url: string, pattern: string | undefined, resourceId: string | undefined): string {
  if (pattern === undefined) return UNKNOWN;
  if (!pattern.includes("{")) return pattern;
  const segments = url.split("?", 1)[0]?.split("/") ?? [];
  return pattern
    .split("/")
    .map((word, index) => {
      if (!word.startsWith("{")) return word;
      if (ID.test(segments[index] ?? "")) return segments[index];
      return (word === "{id}" ? resourceId : undefined) ?? word;
    })
    .join("/");
}
