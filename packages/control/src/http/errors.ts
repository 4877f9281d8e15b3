// Every failure leaves through here: in one shape, with one closed list of codes, and without internal text.

import type { FastifyReply, FastifyRequest } from "fastify";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import { newId } from "@skerry/contract/ids";
import { errorShapeOf } from "./error-shape.ts";
import { responseHeaderLines } from "./response-headers.ts";
import { requestHeadersTooLarge } from "./request-headers.ts";
import { isDatabaseOutage } from "../db/database.ts";
import { countedRequestOf } from "./counted-request.ts";

const DATABASE_RETRY_S = 2;

export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const known = request.raw.errored === error ? leftInItsBody(error) : toSkerryError(error);
  countedRequestOf(request).errorCode = known.code;
  if (known.code === "internal" || known.code === "database_unavailable") {
    request.log.error({ err: error }, "a request failed unexpectedly");
  }
  const shape = errorShapeOf(request);
  if (shape !== undefined) {
    const { status, type, body } = shape(known);
    return void reply
      .code(status)
      .type(type)
      .serializer((text: string) => text)
      .send(body);
  }
  if (known.retryAfterS !== undefined) void reply.header("retry-after", String(known.retryAfterS));
  void reply
    .code(known.status)
    .type("application/json; charset=utf-8")
    // As text: no response schema of a route may stand in the way of its error.
    .serializer((text: string) => text)
    .send(JSON.stringify(known.toBody(request.id)));
}

/** The connection ended before the body did. It looks like the end of one to the database, and is no failure of anything of ours. */
export function leftInItsBody(cause?: unknown): SkerryError {
  return new SkerryError("canceled", "The client went away in the middle of its request.", { cause });
}

/** The error that the caller may see. What is not expected becomes `internal` and keeps its text for the log. */
export function toSkerryError(error: unknown): SkerryError {
  if (error instanceof SkerryError) return error;
  if (isDatabaseOutage(error)) {
    return new SkerryError("database_unavailable", "The database does not answer.", {
      remediation: "Try again; the request may or may not have taken effect.",
      retryAfterS: DATABASE_RETRY_S,
      cause: error,
    });
  }
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  const translated = typeof code === "string" ? frameworkErrors[code] : undefined;
  if (translated !== undefined) {
    return new SkerryError(translated[0], translated[1], { cause: error, ...translated[2] });
  }
  if (typeof statusCode === "number" && statusCode >= 400 && statusCode < 500) {
    return new SkerryError("bad_request", "The request cannot be read.", { cause: error });
  }
  return new SkerryError("internal", "Something went wrong on our side.", {
    remediation: "Try again; if it stays, report the request id.",
    cause: error,
  });
}

type Translation = readonly [code: ErrorCode, message: string, details?: { readonly remediation: string }];

const invalidJson: Translation = ["bad_request", "The body is not valid JSON."];

const frameworkErrors: Readonly<Record<string, Translation>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: invalidJson,
  FST_ERR_CTP_EMPTY_JSON_BODY: invalidJson,
  FST_ERR_CTP_BODY_TOO_LARGE: ["payload_too_large", "The body is larger than this call takes."],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    "unsupported_media_type",
    "The body has a content type that this call does not take.",
    { remediation: "Send JSON with `Content-Type: application/json`." },
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ["bad_request", "The body is not as long as `Content-Length` says."],
  FST_ERR_BAD_URL: ["invalid_path", "The URL is not percent-encoded correctly."],
  FST_ERR_MAX_PARAM_LENGTH: ["invalid_path", "The URL is too long."],
};

/** For bytes that are not HTTP, or not yet a whole head; there is no request yet that could be logged. */
export function answerBrokenHttp(error: Error & { code?: string }, socket: Socket): void {
  // After another error of a socket (a failed TLS handshake, say) the client cannot read HTTP.
  if (!socket.writable || !/^(HPE|ERR_HTTP)_/.test(error.code ?? "")) {
    socket.destroy();
    return;
  }
  const known = brokenHttp(error.code);
  const requestId = newId("request");
  const body = JSON.stringify(known.toBody(requestId));
  socket.end(
    `HTTP/1.1 ${known.status} ${STATUS_CODES[known.status]}\r\nX-Request-Id: ${requestId}\r\n${responseHeaderLines}Content-Type: application/json; charset=utf-8\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function brokenHttp(code: string | undefined): SkerryError {
  if (code === "HPE_HEADER_OVERFLOW") return requestHeadersTooLarge();
  if (code !== "ERR_HTTP_REQUEST_TIMEOUT") {
    return new SkerryError("bad_request", "The request is not valid HTTP.");
  }
  return new SkerryError("request_timeout", "The head of the request did not come in time.", {
    remediation: "Send the request again, on a new connection.",
  });
}
