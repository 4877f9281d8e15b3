// The headers of answers that tell of limits, as the OpenAPI document shows them.

import { formatTiming, type TimingPhase } from "@skerry/contract/server-timing";
import { errorStatus, type ErrorCode } from "@skerry/contract/errors";

type Json = { [key: string]: unknown };

/** What `components.headers` of the document has. */
export const sharedHeaders: Json = {
  RateLimit: {
    required: true,
    schema: { type: "string", pattern: '^"[a-z-]+";r=\\d+;t=\\d+$' },
    example: '"read";r=1474;t=1',
    description:
      "What is left of the limit that is nearer, that of the token or that of its organization: `r` requests now, and all of the burst in `t` seconds.",
  },
  RateLimitOfRefusal: {
    schema: { type: "string", pattern: '^"[a-z-]+";r=\\d+;t=\\d+$' },
    example: '"read";r=0;t=30',
    description: "As with other answers. Absent where the request was refused before its token was known.",
  },
  RateLimitPolicy: {
    required: true,
    schema: { type: "string", pattern: '^"[a-z-]+";q=\\d+;w=60;burst=\\d+$' },
    example: '"read";q=3000;w=60;burst=1500',
    description:
      "That limit, under the same name: `q` requests in `w` seconds in the long run, `burst` of them at once.",
  },
  RateLimitPolicyOfRefusal: {
    schema: { type: "string", pattern: '^"[a-z-]+";q=\\d+;w=60;burst=\\d+$' },
    example: '"read";q=3000;w=60;burst=1500',
    description: "As with other answers. Absent where the request was refused before its token was known.",
  },
  RetryAfter: {
    required: true,
    schema: { type: "integer", minimum: 1 },
    example: 5,
    description: "Seconds until the same request is worth sending again.",
  },
  RetryAfterWhereKnown: {
    schema: { type: "integer", minimum: 1 },
    example: 5,
    description: "Seconds until the same request is worth sending again, where that can be said.",
  },
};

/** Of an answer that is no error: every call with a token has taken a ticket by then. */
export function documentAnswerHeaders(operation: Json, timing?: readonly TimingPhase[]): void {
  if (isPublic(operation)) return;
  for (const answer of Object.values(operation["responses"] as Json) as Json[]) {
    answer["headers"] = {
      ...(answer["headers"] as Json | undefined),
      ...limitHeaders(""),
      ...(timing !== undefined && { "Server-Timing": timingHeader(timing) }),
    };
  }
}

const phaseMeanings: Readonly<Record<TimingPhase, string>> = {
  place: "a host was chosen, and room on it reserved",
  freeze: "the first use of the size had its template frozen on that host",
  start: "the host made the microVM, or took the command into it",
  run: "the command itself, where it has ended before the answer",
  still: "the guest stood still for a snapshot",
};

function timingHeader(timing: readonly TimingPhase[]): Json {
  const phases = timing.map((phase) => `\`${phase}\` (${phaseMeanings[phase]})`).join(", ");
  return {
    schema: { type: "string" },
    example: formatTiming(Object.fromEntries(timing.map((phase, index) => [phase, 2.5 * (index + 1)]))),
    description: `Where the time went, in milliseconds: ${phases}. Errors have it too, as far as they came.`,
  };
}

/** Of an error with these codes; undefined: none. */
export function errorHeaders(codes: readonly ErrorCode[], operation: Json): Json | undefined {
  const headers = {
    // Also a 401: the token may end after its ticket was taken.
    ...(isPublic(operation) ? {} : limitHeaders("OfRefusal")),
    ...(codes.some(mayTellWhen) && {
      "Retry-After": reference(codes.every(tellsWhen) ? "RetryAfter" : "RetryAfterWhereKnown"),
    }),
  };
  return Object.keys(headers).length === 0 ? undefined : headers;
}

export function isPublic(operation: Json): boolean {
  return (operation["security"] as unknown[] | undefined)?.length === 0;
}

function limitHeaders(suffix: "" | "OfRefusal"): Json {
  return {
    RateLimit: reference(`RateLimit${suffix}`),
    "RateLimit-Policy": reference(`RateLimitPolicy${suffix}`),
  };
}

const alwaysTellWhen: readonly ErrorCode[] = [
  "rate_limited",
  "idempotency_in_progress",
  "database_unavailable",
  "shutting_down",
];

function tellsWhen(code: ErrorCode): boolean {
  return alwaysTellWhen.includes(code);
}

function mayTellWhen(code: ErrorCode): boolean {
  return tellsWhen(code) || [429, 503].includes(errorStatus[code]);
}

function reference(name: string): Json {
  return { $ref: `#/components/headers/${name}` };
}
