// Which pages of other origins may call us from a browser: none, unless the settings name them. What this keeps away is a page that was
// given a token to use from where it was not allowed. Forged requests are another matter: the one cookie, of a session, counts for pages of
// our own origin alone (auth/session-cookie.ts), so no answer here may ever have `access-control-allow-credentials`.

import type { IncomingMessage, ServerResponse } from "node:http";

const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";
const REQUEST_HEADERS =
  "Accept, Authorization, Content-Type, Idempotency-Key, If-Match, X-API-Key, X-Org-ID, X-Request-Id";
const ANSWER_HEADERS =
  "ETag, Idempotent-Replayed, RateLimit, RateLimit-Policy, Retry-After, Server-Timing, Skerry-Version, X-Request-Id";
const PREFLIGHT_VALID_S = 600;

/** Says what an allowed origin may do. True where the request was only a browser's question, and is answered. */
export function answerCors(
  origins: ReadonlySet<string>,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (origins.size === 0) return false;
  response.setHeader("vary", "Origin");
  const { origin } = request.headers;
  if (origin === undefined || !origins.has(origin)) return false;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", ANSWER_HEADERS);
  if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) {
    return false;
  }
  response.writeHead(204, {
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": REQUEST_HEADERS,
    "access-control-max-age": String(PREFLIGHT_VALID_S),
  });
  response.end();
  return true;
}
