import { randomBytes } from "node:crypto";
import { hasRole } from "@skerry/contract/organizations/roles";
import type { Scope } from "@skerry/contract/organizations/scopes";
import { SkerryError } from "@skerry/contract/errors";
import { isId, newId } from "@skerry/contract/ids";
import type { Token, TokenCreated, TokenCreateRequest } from "@skerry/contract/organizations/token";
import { ensureFirstOrganization } from "./organization-store.ts";
import {
  holdParent,
  insertToken,
  listTokens,
  revokeToken,
  tokenOwner,
  type Parent,
  type TokenRow,
} from "./token-store.ts";
import type { Database, Queries } from "../db/database.ts";
import { SECRET_BYTES, SECRET_PREFIX, sha256, unauthorized } from "../auth/authenticate.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { recordOwnActs } from "../audit/audit-log.ts";
import { readDuration } from "../values/durations.ts";
import { checkName } from "../values/check-text.ts";
import type { Attempt, Creation } from "../idempotency/create-once.ts";
import { readPage, type Page, type PageParams } from "../values/page.ts";
import { reserveToken } from "./token-quota.ts";

const DEFAULT_NAME = "token";
/** PostgreSQL's dates end long after this, and so does every promise. */
const LIFETIME_MAX_MS = 100 * 366 * 24 * 3_600_000;
/**
 * A token has no right that the one that mints it has not: it is as short-lived, as limited and as bound. Otherwise a limit would
 * hold only those who do not ask for more.
 */
export function tokenCreation(
  context: Context,
  caller: Caller,
  request: TokenAsked["request"],
): Creation<TokenCreated> {
  return { create: (attempt) => createToken(context, { caller, request }, attempt) };
}

interface TokenAsked {
  readonly caller: Caller;
  readonly request: Omit<TokenCreateRequest, "user_id">;
  /** Whose it will be, decided in the transaction that mints it; without this, the caller's. */
  readonly ownerOf?: (transaction: Queries) => Promise<string>;
}

export async function createToken(
  context: Context,
  { caller, request, ownerOf }: TokenAsked,
  attempt: Attempt,
): Promise<TokenCreated> {
  const name = checkName("name", request.name ?? DEFAULT_NAME);
  const lifetimeMs =
    request.expires_in === undefined
      ? null
      : Math.min(readDuration("expires_in", request.expires_in), LIFETIME_MAX_MS);
  return context.db.transaction().execute(async (transaction) => {
    await reserveToken(context, transaction, caller.orgId);
    const parent = await holdParent(transaction, caller, lifetimeMs);
    if (parent === undefined) throw unauthorized();
    if (parent.outlived) throw outlivesParent(request.expires_in, parent.expires_at);
    if (parent.bound && request.bound === false) throw unbinds();
    const scopes = grantedScopes(request.scopes, parent, caller);
    const owner = await ownerOf?.(transaction);
    const minted = await mintToken(transaction, {
      orgId: caller.orgId,
      userId: owner ?? caller.userId,
      // Another member's goes on where the caller's ends.
      parentId: owner === undefined ? parent.id : null,
      withinId: parent.id,
      name,
      lifetimeMs,
      scopes,
      bound: request.bound ?? parent.bound,
    });
    await attempt.done(transaction, minted);
    return minted;
  });
}

/**
 * The first organization of this installation, made where there is none, and a new token for it. It counts as one of the organization's
 * and is not refused for their number: the operator gets in with it on the machine itself, and revokes others.
 */
export async function bootstrap(db: Database, name: string): Promise<TokenCreated> {
  const { org_id, user_id } = await ensureFirstOrganization(db);
  const act = { service: "bootstrap", action: "token.create", resource: "token" } as const;
  return db.transaction().execute(async (transaction) => {
    const minted = await mintToken(transaction, {
      orgId: org_id,
      userId: user_id,
      parentId: null,
      withinId: null,
      name,
      lifetimeMs: null,
      scopes: ["*"],
      bound: false,
    });
    await recordOwnActs(transaction, act, [{ id: minted.id, org_id }]);
    return minted;
  });
}

/** Admins see every token of the organization, everybody else their own. */
export async function listTokensOf(
  context: Context,
  caller: Caller,
  params: PageParams,
): Promise<Page<Token>> {
  const userId = hasRole(caller.role, "admin") ? null : caller.userId;
  const page = await readPage("token", params, (before, limit) =>
    listTokens(context.db, { orgId: caller.orgId, userId, before, limit }),
  );
  return { ...page, items: page.items.map(tokenOf) };
}

/** Everybody ends their own tokens, and an admin those of others, except an owner's, which only an owner ends. */
export async function revoke(context: Context, caller: Caller, id: string): Promise<void> {
  const token = isId("token", id) ? await tokenOwner(context.db, caller.orgId, id) : undefined;
  const own = token?.user_id === caller.userId;
  if (token === undefined || (!own && !hasRole(caller.role, "admin"))) {
    throw new SkerryError("token_not_found", "There is no such token.");
  }
  if (!own && token.role !== null && !hasRole(caller.role, token.role)) {
    throw new SkerryError("forbidden", "The token belongs to an owner of the organization.", {
      remediation: "Only an owner can revoke it.",
      context: { required_role: token.role, role: caller.role },
    });
  }
  await revokeToken(context.db, token.user_id, id);
  context.tokenCache.forget(token.user_id);
}

export interface TokenSpec {
  readonly orgId: string;
  readonly userId: string;
  /** With which it ends; null: with none. */
  readonly parentId: string | null;
  /** Which it must not outlive; null where no token asks for it. */
  readonly withinId: string | null;
  readonly name: string;
  readonly lifetimeMs: number | null;
  /** Seconds without use after which it ends. Undefined: it is no session. */
  readonly idleS?: number;
  /** `lifetimeMs` is for a token that is not used. */
  readonly isInvitation?: true;
  readonly scopes: readonly Scope[];
  readonly bound: boolean;
}

export async function mintToken(db: Queries, params: TokenSpec): Promise<TokenCreated> {
  const secret = SECRET_PREFIX + randomBytes(SECRET_BYTES).toString("base64url");
  const row = await insertToken(db, {
    id: newId("token"),
    org_id: params.orgId,
    user_id: params.userId,
    parent_id: params.parentId,
    within_id: params.withinId,
    secret_sha256: sha256(secret),
    name: params.name,
    lifetimeMs: params.lifetimeMs,
    idle_s: params.idleS ?? null,
    isInvitation: params.isInvitation === true,
    scopes: params.scopes,
    bound: params.bound,
  });
  return { ...tokenOf(row), token: secret };
}

/** Scopes that a caller asks for must be usable here and now: one that never works would only look like a right. */
function grantedScopes(
  asked: readonly Scope[] | undefined,
  parent: Parent,
  caller: Caller,
): readonly Scope[] {
  if (asked === undefined) return parent.scopes;
  const missing = asked.find((scope) => !caller.scopes.has(scope));
  if (missing === undefined) return asked;
  throw new SkerryError(
    "forbidden",
    `The new token cannot have the scope "${missing}", because the one that asks does not have it here.`,
    {
      remediation: "`GET /v1/auth/me` shows what it has; leave out `scopes` to pass on its own.",
      context: { field: "scopes", value: missing, role: caller.role },
    },
  );
}

function tokenOf(row: TokenRow): Token {
  return {
    id: row.id,
    name: row.name,
    user_id: row.user_id,
    organization_id: row.org_id,
    parent_id: row.parent_id,
    scopes: [...row.scopes],
    bound: row.bound,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
  };
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

function unbinds(): SkerryError {
  return new SkerryError(
    "forbidden",
    "The token that asks works in this organization only, and so will every token that it mints.",
    { remediation: "Leave out `bound`.", context: { field: "bound", value: false } },
  );
}
