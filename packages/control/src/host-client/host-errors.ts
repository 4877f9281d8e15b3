// What a failed call to a host means for the caller of the API.

import { errors as undici } from "undici";
import { errorFromBody, SkerryError, type ErrorCode } from "@skerry/contract/errors";
import { DeadlineError } from "./deadline.ts";
import { WrongHostError } from "./mutual-tls.ts";

const RETRY_AFTER_S = 5;
/** An error body is a few sentences; a longer one is not read. */
const ERROR_BODY_MAX_BYTES = 64 * 1024;

/** The call brought no answer: the host is down, too slow, or the caller gave up. */
export function hostErrorOfCall(error: unknown, signal: AbortSignal): SkerryError {
  if (error instanceof SkerryError) return error;
  if (signal.aborted && !(signal.reason instanceof DeadlineError)) {
    return new SkerryError("canceled", "The request was canceled.", { cause: error });
  }
  const slow =
    signal.aborted || error instanceof undici.BodyTimeoutError || error instanceof undici.HeadersTimeoutError;
  return new SkerryError(
    "host_unavailable",
    slow ? "The host did not answer in time." : "The host cannot be reached.",
    {
      remediation: "Try again in a few seconds; `GET /v1/status` counts the hosts by their state.",
      retryAfterS: RETRY_AFTER_S,
      cause: error,
    },
  );
}

/** Whether a call has failed because its host answered with an error: it is there, and does not do what is
 *  asked of it. */
export function isOfHost(error: unknown): error is SkerryError {
  return error instanceof SkerryError && !passing.has(error.code);
}

/** Codes that say nothing about the host. */
const passing: ReadonlySet<ErrorCode> = new Set(["host_unavailable", "canceled", "vm_moving"]);

/** The host answered with an error of its own. */
export async function hostErrorOfAnswer(status: number, body: AsyncIterable<Buffer>): Promise<SkerryError> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > ERROR_BODY_MAX_BYTES) break;
    chunks.push(chunk);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    // errorFromBody gives everything that is not an error body the fallback message.
  }
  const error = errorFromBody(parsed, "The host answered with an error that it did not explain.");
  if (error.status !== 503) return error;
  return new SkerryError(error.code, error.message, {
    ...(error.remediation === undefined ? {} : { remediation: error.remediation }),
    ...(error.context === undefined ? {} : { context: error.context }),
    retryAfterS: RETRY_AFTER_S,
    cause: new Error(`the host answered ${status}`),
  });
}

/** Why a host that wants to join cannot be called back, for the operator at that machine. */
export function unreachableBecause(error: unknown, address: string): SkerryError {
  const endpoint = address.replace(/^.*@/, "");
  return new SkerryError(
    "host_unreachable",
    `Control cannot reach the host at ${endpoint}: ${reasonOf(error)}.`,
    {
      remediation:
        "Give an address and a port that control reaches, with --address, and let them through firewalls.",
      context: { address: endpoint },
      cause: error,
    },
  );
}

function reasonOf(error: unknown): string {
  const causes: unknown[] = [];
  for (let at = error; at instanceof Error && causes.length < CAUSES_MAX; at = at.cause) causes.push(at);
  if (causes.some((cause) => cause instanceof WrongHostError))
    return "another host of this cluster answers there";
  const codes = causes.map((cause) => String((cause as { code?: unknown }).code));
  const known = codes.map((code) => reasons[code]).find((reason) => reason !== undefined);
  if (known !== undefined) return known;
  if (codes.some((code) => /^(ERR_SSL|ERR_TLS|EPROTO|CERT_|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO)/.test(code)))
    return "what answers there is no host of this cluster";
  return "it does not answer";
}

const CAUSES_MAX = 5;
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network unreachable",
  ENOTFOUND: "the name has no address",
  EAI_AGAIN: "the name has no address for now",
  ECONNRESET: "the connection was ended from there",
  CERT_NOT_YET_VALID: "the clocks of the two machines differ by more than an hour",
  CERT_HAS_EXPIRED: "its certificate has expired",
};
