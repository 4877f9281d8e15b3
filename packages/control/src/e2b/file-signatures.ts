// Signatures of URLs of files, which E2B's clients make by themselves: the digest of what is asked for and of the sandbox's access token. The URL
// does not say whose token that is, and where the clients are led here by `E2B_SANDBOX_URL`, not even which sandbox. So it is looked for among the
// access tokens that were given away: those that this process knows, and then those that the database knows since it looked there last.

import { hash, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import { AddressTickets } from "../rate-limits/address-tickets.ts";
import type { AuthFailures } from "../rate-limits/auth-failures.ts";
import { NotedTokens, type Access } from "./noted-tokens.ts";

/** Digests for one request, some microseconds each. */
const signingBounds = { perOrganization: 1_000, inAll: 10_000 } as const;
const PATH_MAX_CHARS = 4_096;
const USERNAME_MAX_CHARS = 100;

const METHODS: Readonly<Record<string, string>> = { GET: "read", POST: "write" };

interface FileSignature {
  /** What was signed, without the access token in its middle. */
  readonly before: string;
  readonly after: string;
  readonly digest: Buffer;
  /** Seconds since 1970. */
  readonly expiresAtS: number | undefined;
}

/** Longer than any in a sandbox: each digest would take its time. */
function isTooLong(path: string, username: string): boolean {
  return path.length > PATH_MAX_CHARS || username.length > USERNAME_MAX_CHARS;
}

/** As the request's query has it. Throws where there is none. */
export function readSignature({ method, query }: Pick<FastifyRequest, "method" | "query">): FileSignature {
  const { path, username, signature, signature_expiration: expiration } = query as Record<string, unknown>;
  const parts = [path, username, signature, expiration].map((part) => part ?? "");
  if (signature === undefined || !parts.every((part) => typeof part === "string"))
    throw refused("missing signature query parameter");
  const [asked = "", user = "", signed = "", until] = parts;
  if (isTooLong(asked, user)) throw refused("invalid signature");
  return signatureOf(
    `${asked}:${METHODS[method]}:${user}:`,
    signed,
    expiration === undefined ? undefined : until,
  );
}

function signatureOf(before: string, signature: string, until: string | undefined): FileSignature {
  const [, digest] = /^v1_([A-Za-z0-9+/]{43})=?$/.exec(signature) ?? [];
  const isTimed = until !== undefined;
  if (digest === undefined || (isTimed && !/^\d{1,12}$/.test(until))) throw refused("invalid signature");
  return {
    before,
    after: isTimed ? `:${until}` : "",
    digest: Buffer.from(digest, "base64"),
    expiresAtS: isTimed ? Number(until) : undefined,
  };
}

interface Asked extends FileSignature {
  /** The only one whose access token it may be, where the request says that. */
  readonly sandboxId: string | undefined;
  readonly address: string;
}

export type LoadTokens = (
  bounds: typeof signingBounds,
) => Promise<readonly (readonly [token: string, access: Access])[]>;

export class SignedFiles {
  readonly #noted = new NotedTokens(signingBounds);
  readonly #tickets: AddressTickets;
  readonly #failures: AuthFailures;
  readonly #load: LoadTokens;
  #loading: Promise<void> = Promise.resolve();
  #nextLoad: Promise<void> | undefined;

  /** `failures`: where a signature that is none counts as a token that is none does. `load`: what other processes have given away, and earlier ones,
   *  since it was called last. */
  constructor(perMinute: number, failures: AuthFailures, load: LoadTokens) {
    this.#tickets = new AddressTickets(perMinute);
    this.#failures = failures;
    this.#load = load;
  }

  /** An access token that was given away, with which a client may sign from now on. */
  note(accessToken: string, access: Access): void {
    this.#noted.note(accessToken, access);
  }

  knows(accessToken: string, access: Access): boolean {
    return this.#noted.has(accessToken, access);
  }

  /** Whose access token signed it. */
  async find(asked: Asked): Promise<Access> {
    const { address } = asked;
    const known = `signature ${asked.digest.toString("base64")}`;
    // Before any digest is made for it.
    refuseFor(this.#failures.waitS(address, known), "Too many invalid signatures have come");
    refuseFor(this.#tickets.waitS(address), "Too many signed requests have come");
    this.#tickets.take(address);
    const found = this.#search(asked) ?? (await this.#loadNext().then(() => this.#search(asked)));
    if (found === undefined) {
      this.#failures.failed(address, known);
      throw refused("invalid signature");
    }
    this.#failures.succeeded(known);
    if (asked.expiresAtS !== undefined && asked.expiresAtS < Math.floor(Date.now() / 1_000))
      throw refused("signature is already expired");
    return found;
  }

  /** Begins after this moment, and is shared by all who ask until then. */
  #loadNext(): Promise<void> {
    this.#nextLoad ??= this.#loading
      .catch(() => undefined)
      .then(() => {
        this.#nextLoad = undefined;
        this.#loading = this.#load(signingBounds).then((found) => {
          for (const [token, access] of found) this.#noted.note(token, access);
        });
        return this.#loading;
      });
    return this.#nextLoad;
  }

  #search(asked: Asked): Access | undefined {
    for (const [token, access] of this.#noted.of(asked.sandboxId)) {
      const digest = hash("sha256", asked.before + token + asked.after, "buffer");
      if (timingSafeEqual(digest, asked.digest)) return access;
    }
    return undefined;
  }
}

function refuseFor(waitS: number, why: string): void {
  if (waitS > 0) throw new SkerryError("rate_limited", `${why} from this address.`, { retryAfterS: waitS });
}

/** In the words of E2B's own service, which clients compare. */
function refused(why: string): SkerryError {
  return new SkerryError("unauthorized", why);
}
