// Our errors as E2B's clients read them: an HTTP status that makes one of their exceptions, and `{code, message}`. What is called in a sandbox by the
// Connect protocol has the protocol's codes.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { ErrorCode, SkerryError } from "@skerry/contract/errors";
import { toSkerryError } from "../http/errors.ts";
import { countedRequestOf } from "../http/counted-request.ts";
import { pathInSandbox } from "./e2b-operations.ts";

/** Where the clients make something else of the status that the error has with us. */
const statuses: { readonly [Code in ErrorCode]?: number } = {
  unknown_template: 404,
  unknown_snapshot: 404,
  sandbox_expired: 404,
  quota_exceeded: 429,
  disk_full: 507,
};

/** A sandbox that is not there, not the caller's, or not running: to the clients it is one that has timed out. */
const sandboxAway: ReadonlySet<ErrorCode> = new Set([
  "sandbox_not_found",
  "sandbox_not_running",
  "sandbox_expired",
]);

export const isSandboxAway = ({ code }: SkerryError): boolean => sandboxAway.has(code);

const UNAUTHORIZED = 401;
/** What is understood and impossible is an invalid argument to the clients. */
const UNDERSTOOD = 422;

export function e2bStatusOf({ code, status }: SkerryError, isInSandbox: boolean): number {
  if (isInSandbox && sandboxAway.has(code)) return 502;
  if (isInSandbox && code === "path_is_directory") return 400;
  return statuses[code] ?? (status === UNDERSTOOD ? 400 : status);
}

const rpcCodes: { readonly [Code in ErrorCode]?: string } = {
  execution_input_closed: "failed_precondition",
  directory_not_empty: "failed_precondition",
  path_is_directory: "invalid_argument",
  path_not_directory: "invalid_argument",
  path_not_file: "invalid_argument",
  permission_denied: "permission_denied",
  disk_full: "resource_exhausted",
  sandbox_busy: "resource_exhausted",
  sandbox_not_found: "unavailable",
  sandbox_not_running: "unavailable",
  sandbox_expired: "unavailable",
  canceled: "canceled",
  // The clients take `unavailable` for a sandbox that has timed out.
  shutting_down: "aborted",
  guest_timeout: "deadline_exceeded",
};

const rpcCodesOfStatuses: Readonly<Record<number, string>> = {
  400: "invalid_argument",
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  413: "resource_exhausted",
  422: "invalid_argument",
  429: "resource_exhausted",
  501: "unimplemented",
  502: "unavailable",
  503: "unavailable",
};

/** A code of the Connect protocol, as it is on the wire. */
export function rpcCodeOf({ code, status }: SkerryError): string {
  return rpcCodes[code] ?? rpcCodesOfStatuses[status] ?? "internal";
}

/** Their remediation is about the request, and so as good for E2B's clients; that of others is about our own API. */
const toldWithRemediation: ReadonlySet<ErrorCode> = new Set(["payload_too_large"]);

export function sendE2bError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const known = toSkerryError(error);
  countedRequestOf(request).errorCode = known.code;
  if (known.code === "internal" || known.code === "database_unavailable")
    request.log.error({ err: error }, "a request failed unexpectedly");
  if (known.retryAfterS !== undefined) void reply.header("retry-after", String(known.retryAfterS));
  const path = pathInSandbox(request.url);
  const status = e2bStatusOf(known, path !== undefined);
  const isRpc = path !== undefined && /^\/(?:process|filesystem)\./.test(path);
  const { remediation } = known;
  const isTold = remediation !== undefined && toldWithRemediation.has(known.code);
  const message = isTold ? `${known.message} ${remediation}` : known.message;
  // With E2B a token is examined before the protocol begins, so its refusal has no code of the protocol.
  const code = isRpc && status !== UNAUTHORIZED ? rpcCodeOf(known) : status;
  void reply
    .code(status)
    .type("application/json")
    .serializer((text: string) => text)
    .send(JSON.stringify({ code, message }));
}
