// Everything that a call can fail with, beside the abort of the caller's own signal (which is thrown on unchanged).

import type { ErrorContext } from "@skerry/contract/errors";
import { SERVER_VERSION } from "@skerry/contract/server-version";
import { olderServerRemedy } from "./older-server.ts";
import { apiError, statusOfCode, type ApiErrorDetails, type SkerryApiError } from "./api-errors.ts";

/** The server could not be reached, stopped answering, or the connection broke. Whether the call took effect is unknown. */
export class SkerryConnectionError extends Error {
  override readonly name = "SkerryConnectionError";
  readonly code = "connection_failed";
  /** The address that was called. */
  readonly baseUrl: string;
  readonly remediation: string;

  constructor(baseUrl: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.baseUrl = baseUrl;
    this.remediation = `Check that ${baseUrl} is the right address and that the server runs; \`skerry up\` starts one on this machine.`;
  }
}

/** The arguments, the settings or a folder cannot be used with any server. Nothing was sent, except where the code is `file_changed`. */
export class SkerryInputError extends TypeError {
  override readonly name = "SkerryInputError";
  /** `invalid_input`, `no_token`, or what is wrong with the saved settings (`config_not_private`, `config_broken`) or with a folder: see `Templates.buildFolder`. */
  readonly code: string;
  readonly remediation: string;

  constructor(message: string, remediation: string, code = "invalid_input") {
    super(message);
    this.code = code;
    this.remediation = remediation;
  }
}

/** More came than the caller wants to hold in memory. The download has been broken off. */
export class SkerryTooLargeError extends Error {
  override readonly name = "SkerryTooLargeError";
  readonly code = "too_large";
  /** The bound that was exceeded, in bytes. */
  readonly maxBytes: number;
  readonly remediation = "Use `downloadStream`, which holds no file in memory, or give a larger `maxBytes`.";

  constructor(maxBytes: number) {
    super(`The file has more than ${maxBytes} bytes, the most that \`download\` collects in memory here.`);
    this.maxBytes = maxBytes;
  }
}

/** A resource has ended in another status than what was waited for, or has not come there in time. */
export class SkerryStatusError extends Error {
  override readonly name = "SkerryStatusError";
  readonly code = "status_not_reached";
  /** Last state of the resource. */
  readonly resource: { readonly status: string };
  readonly remediation: string;

  constructor(resource: { readonly status: string }, wanted: readonly string[], isOver: boolean) {
    const words = wanted.join(" or ");
    super(`It is ${resource.status}, and ${isOver ? `will not be ${words}` : `not ${words} in time`}.`);
    this.resource = resource;
    this.remediation = isOver
      ? "Read its `reason` or `error`, which says why."
      : "Wait longer, or read its `waits_for`, which says what it waits for.";
  }
}

/** The error that an answer other than 2xx stands for. */
export async function errorOfResponse(response: Response, baseUrl: string): Promise<SkerryApiError> {
  const text = await beginningOf(response);
  const headers = {
    requestId: response.headers.get("x-request-id") ?? undefined,
    retryAfterS: positiveNumber(response.headers.get("retry-after")),
  };
  return (
    errorOfBody(parseJson(text), response.status, headers, response.headers.get(SERVER_VERSION)) ??
    apiError({
      ...headers,
      code: "unexpected_response",
      status: response.status,
      message:
        `${baseUrl} answered ${response.status} ${response.statusText}`.trimEnd() + ", but not as Skerry.",
      remediation: "Check the address: something else listens there, or a proxy in between failed.",
    })
  );
}

/** Of an error that a server of ours sends. */
const ERROR_MAX_BYTES = 1024 * 1024;

/** What is longer is none of our errors, and its rest is not read. */
async function beginningOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  const reader = body?.getReader();
  while (reader !== undefined && bytes <= ERROR_MAX_BYTES) {
    const { done, value } = await reader.read();
    if (done) return text;
    bytes += value.length;
    text += decoder.decode(value, { stream: true });
  }
  await reader?.cancel();
  return text;
}

/** The error in an event of a stream, which has no HTTP status of its own. */
export function errorOfEvent(body: unknown): SkerryApiError | undefined {
  return errorOfBody(body, undefined, {});
}

/** What reading a stream of events failed with; its own words for what is no such stream. */
export function errorOfStream(error: unknown, baseUrl: string): unknown {
  if (!(error instanceof TypeError || error instanceof SyntaxError)) return error;
  return new SkerryConnectionError(
    baseUrl,
    `${baseUrl} sent a stream that is not one of Skerry (${error.message}).`,
    error,
  );
}

function errorOfBody(
  body: unknown,
  status: number | undefined,
  headers: Pick<ApiErrorDetails, "requestId" | "retryAfterS">,
  serverVersion: string | null = null,
): SkerryApiError | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const { code, message, remediation, context, request_id } = body as Readonly<Record<string, unknown>>;
  if (typeof code !== "string" || typeof message !== "string") return undefined;
  return apiError({
    ...headers,
    code,
    message,
    status: status ?? statusOfCode(code),
    remediation:
      olderServerRemedy(code, serverVersion) ?? (typeof remediation === "string" ? remediation : undefined),
    context: typeof context === "object" && context !== null ? (context as ErrorContext) : undefined,
    requestId: typeof request_id === "string" ? request_id : headers.requestId,
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function positiveNumber(text: string | null): number | undefined {
  const value = Number(text ?? Number.NaN);
  return value > 0 ? value : undefined;
}
