// Everything that a call can fail with, beside the abort of the caller's own signal (which is thrown on unchanged).

import { errorStatus, type ErrorCode, type ErrorContext } from "@skerry/contract/errors";

/** A server that is newer than this client may use a code that the client does not know. */
export type ApiErrorCode = ErrorCode | "unexpected_response" | (string & Record<never, never>);

export interface ApiErrorDetails {
  readonly code: ApiErrorCode;
  readonly message: string;
  readonly status: number;
  readonly remediation?: string | undefined;
  readonly context?: ErrorContext | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterS?: number | undefined;
}

/** The server understood the call and refused it, or failed at it. */
export class SkerryApiError extends Error {
  override readonly name = "SkerryApiError";
  /** From the API's closed list, for example `sandbox_not_found`; `unexpected_response` where something that is not Skerry answered. */
  readonly code: ApiErrorCode;
  /** HTTP status. */
  readonly status: number;
  /** What to do about it, where the server knows. */
  readonly remediation: string | undefined;
  /** Facts for a program: the offending field, its value, the limit. */
  readonly context: ErrorContext | undefined;
  /** Finds this request in the server's log. */
  readonly requestId: string | undefined;
  /** Seconds after which the same call may succeed. */
  readonly retryAfterS: number | undefined;

  constructor(details: ApiErrorDetails) {
    super(details.message);
    this.code = details.code;
    this.status = details.status;
    this.remediation = details.remediation;
    this.context = details.context;
    this.requestId = details.requestId;
    this.retryAfterS = details.retryAfterS;
  }
}

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

/** The arguments cannot be sent, whatever the server: nothing was sent. */
export class SkerryInputError extends TypeError {
  override readonly name = "SkerryInputError";
}

/** The error that an answer other than 2xx stands for. */
export async function errorOfResponse(response: Response, baseUrl: string): Promise<SkerryApiError> {
  const text = await response.text();
  const headers = {
    requestId: response.headers.get("x-request-id") ?? undefined,
    retryAfterS: positiveNumber(response.headers.get("retry-after")),
  };
  return (
    errorOfBody(parseJson(text), response.status, headers) ??
    new SkerryApiError({
      ...headers,
      code: "unexpected_response",
      status: response.status,
      message:
        `${baseUrl} answered ${response.status} ${response.statusText}`.trimEnd() + ", but not as Skerry.",
      remediation: "Check the address: something else listens there, or a proxy in between failed.",
    })
  );
}

/** The error in an event of a stream, which has no HTTP status of its own. */
export function errorOfEvent(body: unknown): SkerryApiError | undefined {
  return errorOfBody(body, undefined, {});
}

function errorOfBody(
  body: unknown,
  status: number | undefined,
  headers: Pick<ApiErrorDetails, "requestId" | "retryAfterS">,
): SkerryApiError | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const { code, message, remediation, context, request_id } = body as Readonly<Record<string, unknown>>;
  if (typeof code !== "string" || typeof message !== "string") return undefined;
  return new SkerryApiError({
    ...headers,
    code,
    message,
    status:
      status ?? (Object.hasOwn(errorStatus, code) ? errorStatus[code as ErrorCode] : errorStatus.internal),
    remediation: typeof remediation === "string" ? remediation : undefined,
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
