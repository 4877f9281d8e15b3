import { createHash, randomBytes } from "node:crypto";
import { usableScopes, type Scope } from "@skerry/contract/access";
import { SkerryError } from "@skerry/contract/errors";
import { idPattern, newId } from "@skerry/contract/ids";
import type { Token, TokenCreated, TokenCreateRequest } from "@skerry/contract/tokens";
import { ensureFirstOrganization } from "../store/organizations.ts";
import {
  findBearer,
  holdParent,
  insertToken,
  listTokens,
  revokeToken,
  type TokenRow,
} from "../store/tokens.ts";
import type { Database, Queries } from "../store/database.ts";
import type { Caller, Context } from "./context.ts";
import { readDuration } from "./durations.ts";
import { checkText } from "./env.ts";
import type { Attempt, Creation } from "./idempotency.ts";
import { readPage, type Page, type PageWish } from "./pages.ts";

const SECRET_PREFIX = "sk_";
/** 256 bits: nobody guesses it, so a fast hash without salt is enough to store it. */
const SECRET_BYTES = 32;
const DEFAULT_NAME = "token";
/** PostgreSQL's dates end long after this, and so does every promise. */
const LIFETIME_MAX_MS = 100 * 366 * 24 * 3_600_000;
const tokenId = new RegExp(idPattern("token"));
const organizationId = new RegExp(idPattern("organization"));

/** A token never outlives the one that mints it: otherwise an expiry would bind only those who do not ask for more. */
export function tokenCreation(
  context: Context,
  caller: Caller,
  request: TokenCreateRequest,
): Creation<TokenCreated> {
  return { create: (attempt) => createToken(context, { caller, request }, attempt) };
}

async function createToken(
  context: Context,
  { caller, request }: { readonly caller: Caller; readonly request: TokenCreateRequest },
  attempt: Attempt,
): Promise<TokenCreated> {
  const name = checkText("name", request.name ?? DEFAULT_NAME);
  const lifetimeMs =
    request.expires_in === undefined
      ? null
      : Math.min(readDuration("expires_in", request.expires_in), LIFETIME_MAX_MS);
  return context.db.transaction().execute(async (transaction) => {
    const parent = await holdParent(transaction, caller, lifetimeMs);
    if (parent === undefined) throw unauthorized();
    if (parent.outlived) throw outlivesParent(request.expires_in, parent.expires_at);
    const minted = await mintToken(transaction, caller, { ...parent, name, lifetimeMs });
    await attempt.done(transaction, minted);
    return minted;
  });
}

/** The first organization of this installation, made where there is none, and a new token for it. */
export async function bootstrap(db: Database, name: string): Promise<TokenCreated> {
  const { org_id, user_id } = await ensureFirstOrganization(db);
  return mintToken(
    db,
    { orgId: org_id, userId: user_id, tokenId: null },
    {
      name,
      lifetimeMs: null,
      scopes: ["*"],
      bound: false,
    },
  );
}

export async function listTokensOf(context: Context, caller: Caller, wish: PageWish): Promise<Page<Token>> {
  const page = await readPage("token", wish, (before, limit) =>
    listTokens(context.db, { orgId: caller.orgId, before, limit }),
  );
  return { ...page, items: page.items.map(tokenOf) };
}

export async function revoke(context: Context, caller: Caller, id: string): Promise<void> {
  if (tokenId.test(id) && (await revokeToken(context.db, caller.orgId, id))) return;
  throw new SkerryError("token_not_found", "There is no such token.");
}

/** Who calls, by the token's secret and the organization that the request names. */
export async function authenticate(
  context: Context,
  secret: string | undefined,
  orgId: string | undefined,
): Promise<Caller> {
  if (secret === undefined || !secret.startsWith(SECRET_PREFIX)) throw unauthorized();
  // An id of another shape belongs to nobody; looking for it would only carry odd bytes into SQL.
  const wanted = orgId === undefined || organizationId.test(orgId) ? orgId : "";
  const bearer = await findBearer(context.db, sha256(secret), wanted);
  if (bearer === undefined) throw unauthorized();
  const { membership } = bearer;
  if (membership === null) {
    throw new SkerryError("organization_not_found", "There is no such organization.", {
      remediation: "Leave out `X-Org-ID` to work in the token's own organization.",
    });
  }
  return {
    orgId: membership.org_id,
    userId: bearer.user_id,
    tokenId: bearer.token_id,
    role: membership.role,
    scopes: usableScopes(bearer.scopes, membership),
  };
}

interface TokenWish {
  readonly name: string;
  readonly lifetimeMs: number | null;
  readonly scopes: readonly Scope[];
  readonly bound: boolean;
}

async function mintToken(
  db: Queries,
  minter: Pick<Caller, "orgId" | "userId"> & { readonly tokenId: string | null },
  { name, lifetimeMs, scopes, bound }: TokenWish,
): Promise<TokenCreated> {
  const secret = SECRET_PREFIX + randomBytes(SECRET_BYTES).toString("base64url");
  const row = await insertToken(db, {
    id: newId("token"),
    org_id: minter.orgId,
    user_id: minter.userId,
    parent_id: minter.tokenId,
    secret_sha256: sha256(secret),
    name,
    lifetimeMs,
    scopes,
    bound,
  });
  return { ...tokenOf(row), token: secret };
}

function tokenOf(row: TokenRow): Token {
  return {
    id: row.id,
    name: row.name,
    organization_id: row.org_id,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
  };
}

function sha256(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** The same sentence for every kind of bad token: the difference would help only who guesses. */
function unauthorized(): SkerryError {
  return new SkerryError(
    "unauthorized",
    "The request has no valid API token: it is missing, unknown, expired or revoked.",
    {
      remediation:
        "Send `Authorization: Bearer sk_…` or `X-API-Key: sk_…`; `skerry auth token` mints a token.",
    },
  );
}

function outlivesParent(expiresIn = "", expiresAt: Date | null = null): SkerryError {
  const end = expiresAt?.toISOString() ?? null;
  return new SkerryError(
    "timeout_too_long",
    `"expires_in" is ${expiresIn}, but the token that asks expires at ${end}, and none that it mints may outlive it.`,
    {
      remediation:
        "Leave out `expires_in` to have both end together, ask for less, or use a token that lasts longer.",
      context: { field: "expires_in", value: expiresIn, parent_expires_at: end },
    },
  );
}
