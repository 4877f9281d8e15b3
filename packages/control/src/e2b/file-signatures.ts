// Signatures of URLs of files, which E2B's clients make by themselves: the digest of what is asked for and of the sandbox's access token. The URL
// does not say whose token that is, and where the clients are led here by `E2B_SANDBOX_URL`, not even which sandbox. So it is looked for among the
// access tokens that this process has given away.

import { hash, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import type { Credentials } from "../auth/authenticate.ts";
import { AddressTickets } from "../rate-limits/address-tickets.ts";
import { BoundedMap } from "../values/bounded-map.ts";

/** Digests for one request, about a microsecond each. */
const ACCESS_TOKENS_MAX = 10_000;

const METHODS: Readonly<Record<string, string>> = { GET: "read", POST: "write" };

interface FileSignature {
  /** What was signed, without the access token in its middle. */
  readonly before: string;
  readonly after: string;
  readonly digest: Buffer;
  /** Seconds since 1970. */
  readonly expiresAtS: number | undefined;
}

/** As the request's query has it. Throws where there is none. */
export function readSignature({ method, query }: Pick<FastifyRequest, "method" | "query">): FileSignature {
  const { path, username, signature, signature_expiration: expiration } = query as Record<string, unknown>;
  const parts = [path, username, signature, expiration].map((part) => part ?? "");
  if (signature === undefined || !parts.every((part) => typeof part === "string"))
    throw refused("missing signature query parameter");
  const [, digest] = /^v1_([A-Za-z0-9+/]{43})=?$/.exec(parts[2] ?? "") ?? [];
  const isTimed = expiration !== undefined;
  if (digest === undefined || (isTimed && !/^\d{1,12}$/.test(parts[3] ?? "")))
    throw refused("invalid signature");
  return {
    before: `${parts[0]}:${METHODS[method]}:${parts[1]}:`,
    after: isTimed ? `:${parts[3]}` : "",
    digest: Buffer.from(digest, "base64"),
    expiresAtS: isTimed ? Number(parts[3]) : undefined,
  };
}

interface Access {
  readonly sandboxId: string;
  readonly credentials: Credentials;
}

export class SignedFiles {
  readonly #byToken = new BoundedMap<string, Access>(ACCESS_TOKENS_MAX);
  readonly #tickets: AddressTickets;

  constructor(perMinute: number) {
    this.#tickets = new AddressTickets(perMinute);
  }

  /** An access token that a client may sign with from now on. */
  note(accessToken: string, access: Access): void {
    this.#byToken.set(accessToken, access);
  }

  /** Whose access token signed it. `sandboxId`: the only one whose it may be, where the request says that. */
  find({
    sandboxId,
    address,
    ...asked
  }: FileSignature & { readonly sandboxId: string | undefined; readonly address: string }): Access {
    this.#takeTicket(address);
    for (const [token, access] of this.#byToken.entries()) {
      if (sandboxId !== undefined && access.sandboxId !== sandboxId) continue;
      const digest = hash("sha256", asked.before + token + asked.after, "buffer");
      if (!timingSafeEqual(digest, asked.digest)) continue;
      if (asked.expiresAtS !== undefined && asked.expiresAtS < Math.floor(Date.now() / 1_000))
        throw refused("signature is already expired");
      return access;
    }
    throw refused("invalid signature");
  }

  #takeTicket(address: string): void {
    const waitS = this.#tickets.waitS(address);
    if (waitS > 0)
      throw new SkerryError("rate_limited", "Too many signed requests have come from this address.", {
        retryAfterS: waitS,
      });
    this.#tickets.take(address);
  }
}

/** In the words of E2B's own service, which clients compare. */
function refused(why: string): SkerryError {
  return new SkerryError("unauthorized", why);
}
