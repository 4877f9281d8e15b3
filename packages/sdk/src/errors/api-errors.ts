// What the server refuses with, by kind: one class for each status that a caller treats in its own way. The codes that each can carry
// come from the contract's closed list, so a new code finds its class by itself.

import { errorStatus, type ErrorCode, type ErrorContext } from "@skerry/contract/errors";

/** A server that is newer than this client may use a code that the client does not know. */
type UnknownCode = "unexpected_response" | (string & Record<never, never>);

export type ApiErrorCode = ErrorCode | UnknownCode;

/** The codes of the closed list that come with one of these statuses. */
type CodesOf<Status extends number> = {
  [Code in ErrorCode]: (typeof errorStatus)[Code] extends Status ? Code : never;
}[ErrorCode];

export interface ApiErrorDetails {
  readonly code: ApiErrorCode;
  readonly message: string;
  readonly status: number;
  readonly remediation?: string | undefined;
  readonly context?: ErrorContext | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterS?: number | undefined;
}

/** The server understood the call and refused it, or failed at it. Usually one of the classes below. */
export class SkerryApiError<Code extends ApiErrorCode = ApiErrorCode> extends Error {
  override readonly name: string = "SkerryApiError";
  /** From the API's closed list, for example `sandbox_not_found`; `unexpected_response` where something that is not Skerry answered. */
  readonly code: Code | UnknownCode;
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

/** The request is wrong in every state of the server: a field, a path, a size. */
export class InvalidRequestError extends SkerryApiError<
  CodesOf<400 | 405 | 408 | 413 | 415 | 416 | 426 | 431>
> {
  override readonly name = "InvalidRequestError";
}

/** The token is missing, unknown, expired or revoked. */
export class UnauthorizedError extends SkerryApiError<CodesOf<401>> {
  override readonly name = "UnauthorizedError";
}

/** The token lacks a scope, or its user a role. */
export class ForbiddenError extends SkerryApiError<CodesOf<403>> {
  override readonly name = "ForbiddenError";
}

/** What the call is about does not exist, or is another organization's. */
export class NotFoundError extends SkerryApiError<CodesOf<404>> {
  override readonly name = "NotFoundError";
}

/** What the call is about is in a state that does not allow it, or has another version than the call is for. */
export class ConflictError extends SkerryApiError<CodesOf<409 | 412>> {
  override readonly name = "ConflictError";
}

/** The request was understood and cannot be met: an unknown template, a timeout over the maximum. */
export class ImpossibleError extends SkerryApiError<CodesOf<422>> {
  override readonly name = "ImpossibleError";
}

/** Too much at once; `retryAfterS` says when there is room again. */
export class RateLimitedError extends SkerryApiError<CodesOf<429>> {
  override readonly name = "RateLimitedError";
}

/** The server cannot do it now: no room, a host or the database is away, or it is shutting down. */
export class UnavailableError extends SkerryApiError<CodesOf<503>> {
  override readonly name = "UnavailableError";
}

const classes: Readonly<Record<number, new (details: ApiErrorDetails) => SkerryApiError>> = {
  400: InvalidRequestError,
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  405: InvalidRequestError,
  408: InvalidRequestError,
  409: ConflictError,
  412: ConflictError,
  413: InvalidRequestError,
  415: InvalidRequestError,
  416: InvalidRequestError,
  422: ImpossibleError,
  426: InvalidRequestError,
  429: RateLimitedError,
  431: InvalidRequestError,
  503: UnavailableError,
};

/** The error of the class that belongs to its status. Something that is not Skerry gets no class of ours. */
export function apiError(details: ApiErrorDetails): SkerryApiError {
  const kind = details.code === "unexpected_response" ? undefined : classes[details.status];
  return new (kind ?? SkerryApiError)(details);
}

/** The status of a code, for errors that come without one. */
export function statusOfCode(code: string): number {
  return Object.hasOwn(errorStatus, code) ? errorStatus[code as ErrorCode] : errorStatus.internal;
}
