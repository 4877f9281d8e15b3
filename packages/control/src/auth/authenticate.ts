import { createHash } from "node:crypto";
import { SkerryError } from "@skerry/contract/errors";
import { isId } from "@skerry/contract/ids";
import type { Confirmed, Expired, TokenCache } from "./token-cache.ts";
import type { Caller } from "../caller.ts";
import type { Credentials } from "./credentials.ts";

export const SECRET_PREFIX = "sk_";
/** 256 bits cannot be guessed, so a fast hash without salt is enough to store it. */
export const SECRET_BYTES = 32;
/** As base64url; a string of another shape is no token, and the database is not asked. */
const SECRET = /^sk_[A-Za-z0-9_-]{43}$/;

export function isSecret(text: string): boolean {
  return SECRET.test(text);
}

/** Stands for every id of a wrong shape: no resource has it, and its bytes stay out of SQL. */
const NO_ORGANIZATION = "none";

export function readCredentials(secret: string | undefined, orgId: string | undefined): Credentials {
  if (secret === undefined || !SECRET.test(secret)) throw unauthorized();
  const known = orgId === undefined || isId("organization", orgId);
  return { secretSha256: sha256(secret).toString("hex"), orgId: known ? orgId : NO_ORGANIZATION };
}

/** Who calls, by the token's secret and the organization that the request names. */
export async function authenticate(
  context: { readonly tokenCache: TokenCache },
  credentials: Credentials,
): Promise<Caller> {
  return confirmedCaller(await context.tokenCache.find(credentials));
}

export function confirmedCaller(confirmed: Confirmed | Expired | undefined): Caller {
  if (confirmed === undefined) throw unauthorized();
  if ("expiredAt" in confirmed) throw expired(confirmed.expiredAt);
  if (confirmed.caller !== null) return confirmed.caller;
  throw organizationNotYours();
}

/** The same for one that others have and for one that never was. */
export function organizationNotYours(): SkerryError {
  return new SkerryError("organization_not_found", "There is no such organization.", {
    remediation: "`GET /v1/orgs` lists yours; without `X-Org-ID` a request is for the token's own.",
  });
}

export function sha256(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Only the bearer of the secret is told it, so guessing tells nothing. */
function expired(at: Date): SkerryError {
  return new SkerryError("unauthorized", `The API token expired at ${at.toISOString()}.`, {
    remediation:
      "Use another one: `skerry auth token` mints one where you still have a valid token; otherwise ask an admin of the organization.",
    context: { expired_at: at.toISOString() },
  });
}

/** The same sentence for every other kind of bad token: the difference would help only who guesses. */
export function unauthorized(): SkerryError {
  return new SkerryError(
    "unauthorized",
    "The request has no valid API token: it is missing, unknown or revoked.",
    {
      remediation:
        "Send `Authorization: Bearer sk_…` or `X-API-Key: sk_…`; `skerry auth token` mints a token.",
    },
  );
}
