// Tokens of browsers' sessions. A session stands for the token that it was begun with: it has that one's rights, and what is minted in it is
// that one's child, so that logging out ends nothing else.

import { SESSION_IDLE_S, SESSION_MAX_S } from "@skerry/contract/organizations/login";
import type { TokenCreated } from "@skerry/contract/organizations/token";
import { eventOfCall, succeeded } from "../audit/audit-log.ts";
import { insertAuditEvents } from "../audit/insert-audit-events.ts";
import { unauthorized } from "../auth/authenticate.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { findToken, holdParent, revokeOldSessions, revokeToken } from "./token-store.ts";
import { mintToken } from "./tokens.ts";

/** Of one token. They count as tokens of the organization, and this keeps them from using its tokens up. */
const SESSIONS_MAX = 10;

export interface Login {
  readonly name: string;
  readonly address: string;
  readonly requestId: string;
}

/** `caller`: with the token that the session is to stand for. The organization's number of tokens refuses none: a person gets in, and revokes others. */
export async function mintSession(context: Context, caller: Caller, login: Login): Promise<TokenCreated> {
  return context.db.transaction().execute(async (transaction) => {
    const parent = await holdParent(transaction, caller, null);
    if (parent === undefined) throw unauthorized();
    const minted = await mintToken(transaction, {
      orgId: caller.orgId,
      userId: caller.userId,
      parentId: parent.id,
      withinId: parent.id,
      name: login.name,
      lifetimeMs: SESSION_MAX_S * 1_000,
      idleS: SESSION_IDLE_S,
      scopes: parent.scopes,
      bound: parent.bound,
    });
    await revokeOldSessions(transaction, parent.id, SESSIONS_MAX);
    const act = { action: "session.create", resource: "token", resourceId: minted.id } as const;
    const event = eventOfCall({ ...act, ...login, caller, detail: null }, succeeded);
    await insertAuditEvents(transaction, [event]);
    return minted;
  });
}

/** The session that the caller's request came with; a token that is none goes on. */
export async function endSession(context: Context, caller: Caller): Promise<void> {
  const token = await findToken(context.db, caller.tokenId);
  if (token === undefined || token.idle_s === null) return;
  await revokeToken(context.db, caller.userId, caller.tokenId);
  context.tokenCache.forget(caller.userId);
}
