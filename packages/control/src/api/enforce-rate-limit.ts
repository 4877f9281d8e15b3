// What a request and its client learn of limits: the headers of draft-ietf-httpapi-ratelimit-headers, and 429.

import type { FastifyReply, FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import type { Caller } from "../caller.ts";
import type { AddressTickets } from "../rate-limits/address-tickets.ts";
import type { AuthFailures } from "../rate-limits/auth-failures.ts";
import type { RateLimiter } from "../rate-limits/rate-limiter.ts";
import type { Access } from "./operation.ts";

/** Takes a ticket for this request, or refuses it. */
export async function enforceRateLimit(
  limiter: RateLimiter,
  caller: Caller,
  { rate: rateClass, ticketOf }: Pick<Access, "rate" | "ticketOf">,
  reply: FastifyReply,
): Promise<void> {
  const { of, rate, remaining, fullInS, refusedForS } = await limiter.take(caller, rateClass, ticketOf);
  const policy = of === "token" ? rateClass : `${rateClass}-${of}`;
  void reply.header("ratelimit-policy", `"${policy}";q=${rate.perMinute};w=60;burst=${rate.burst}`);
  void reply.header("ratelimit", `"${policy}";r=${remaining};t=${fullInS}`);
  if (refusedForS === null) return;
  throw new SkerryError("rate_limited", `${tooMany[of]} of the class "${rateClass}".`, {
    remediation: `Wait ${refusedForS} s. \`GET /v1/limits\` shows the limits.`,
    retryAfterS: refusedForS,
    context: { class: rateClass, of, per_minute: rate.perMinute, burst: rate.burst },
  });
}

const tooMany = {
  token: "This token has made too many requests",
  organization: "The tokens of this organization have together made too many requests",
} as const;

/** For what is large and needs no token. */
export function takeDownloadTicket(tickets: AddressTickets, request: FastifyRequest): void {
  takeAddressTicket(tickets, request, { rate: "download", what: "downloads" });
}

/** For callers without a token. */
export function takeVisitorTicket(tickets: AddressTickets, request: FastifyRequest): void {
  takeAddressTicket(tickets, request, { rate: "visitor", what: "requests without a token" });
}

function takeAddressTicket(
  tickets: AddressTickets,
  { ip }: FastifyRequest,
  { rate, what }: { readonly rate: string; readonly what: string },
): void {
  const waitS = tickets.waitS(ip);
  if (waitS > 0) {
    throw new SkerryError("rate_limited", `Too many ${what} have come from this address.`, {
      remediation: `Wait ${waitS} s.`,
      retryAfterS: waitS,
      context: { class: rate },
    });
  }
  tickets.take(ip);
}

/** Authenticates, unless too many tokens that were none have come from this address. `proof` stands for the secret and what it is shown for. */
export async function countingFailures<T>(
  attempts: AuthFailures,
  { address, proof }: { readonly address: string; readonly proof: string },
  authenticate: () => Promise<T>,
): Promise<T> {
  const waitS = attempts.waitS(address, proof);
  if (waitS > 0) {
    throw new SkerryError("rate_limited", "Too many invalid tokens have come from this address.", {
      remediation: `Wait ${waitS} s, and check the token.`,
      retryAfterS: waitS,
      context: { class: "authentication" },
    });
  }
  try {
    const found = await authenticate();
    attempts.succeeded(proof);
    return found;
  } catch (error) {
    if (error instanceof SkerryError && isOfStranger(error)) attempts.failed(address, proof);
    throw error;
  }
}

function isOfStranger({ code }: SkerryError): boolean {
  return code === "unauthorized" || code === "organization_not_found";
}
