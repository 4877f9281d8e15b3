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
const ASKED_HEADERS = /^[A-Za-z0-9, -]{1,4000}$/;

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
  return isQuestion(request) && allow(response, REQUEST_HEADERS);
}

/**
 * The same where pages of all origins may call, as E2B's clients do from browsers: each request brings a token of its own, of which no other page knows,
 * and no cookie counts.
 */
export function answerOpenCors(request: IncomingMessage, response: ServerResponse): boolean {
  response.setHeader("access-control-allow-origin", "*");
  response.setHeader("access-control-expose-headers", "*");
  if (!isQuestion(request)) return false;
  const asked = request.headers["access-control-request-headers"] ?? "";
  // Browsers count `Authorization` to none of `*`.
  return allow(response, ASKED_HEADERS.test(asked) ? asked : REQUEST_HEADERS);
}

function isQuestion({ method, headers }: IncomingMessage): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}

function allow(response: ServerResponse, headers: string): true {
  response.writeHead(204, {
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": headers,
    "access-control-max-age": String(PREFLIGHT_VALID_S),
  });
  response.end();
  return true;
}
