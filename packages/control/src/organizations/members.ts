// Who is in an organization. Everything is decided in the transaction that changes it, by what the caller is at that moment: a role
// that a request was allowed with may be a moment old.

import { hasRole, type Role } from "@skerry/contract/organizations/roles";
import { SkerryError } from "@skerry/contract/errors";
import { isId, newId } from "@skerry/contract/ids";
import {
  INVITATION_DEFAULT_MS,
  INVITATION_MAX_MS,
  type Member,
  type MemberAdded,
  type MemberAddRequest,
} from "@skerry/contract/organizations/organization";
import type { Queries } from "../db/database.ts";
import {
  countMembers,
  deleteMember,
  findMember,
  findMemberCalled,
  hasOtherOwner,
  holdMembers,
  holdUserRow,
  insertMember,
  insertUser,
  listMembers,
  setRole,
  type MemberRow,
} from "./member-store.ts";
import { holdParent, holdUser, revokeTokensIn } from "./token-store.ts";
import { unauthorized } from "../auth/authenticate.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { boundReached } from "../limits/quota-exceeded.ts";
import { checkName } from "../values/check-text.ts";
import { readBoundedDuration } from "../values/durations.ts";
import type { Attempt, Creation } from "../idempotency/create-once.ts";
import { readPage, type Page, type PageParams } from "../values/page.ts";
import { reserveToken } from "./token-quota.ts";
import { mintToken } from "./tokens.ts";

/**
 * A member with a first token, which the caller hands over. It is bound to this organization, because the caller has seen it and must
 * not get into others by it; and like every token it has no right that the caller's has not.
 */
export function memberAddition(
  context: Context,
  caller: Caller,
  request: MemberAddRequest,
): Creation<MemberAdded> {
  return { create: (attempt) => addMember(context, { caller, request }, attempt) };
}

async function addMember(
  context: Context,
  { caller, request }: { readonly caller: Caller; readonly request: MemberAddRequest },
  attempt: Attempt,
): Promise<MemberAdded> {
  checkAddition(request);
  const { expires_in: asked } = request;
  const lifetimeMs =
    asked === undefined ? INVITATION_DEFAULT_MS : readBoundedDuration("expires_in", asked, INVITATION_MAX_MS);
  return context.db.transaction().execute(async (transaction) => {
    await reserveToken(context, transaction, caller.orgId);
    await holdMembers(transaction, caller.orgId);
    const minter = await holdParent(transaction, caller, null);
    if (minter === undefined) throw unauthorized();
    refuseAbove(await roleOf(transaction, caller), request.role);
    const used = await countMembers(transaction, caller.orgId);
    if (used >= MEMBERS_MAX)
      throw boundReached({
        quota: "members",
        nouns: "members",
        used,
        limit: MEMBERS_MAX,
        remediation: "Remove members that you no longer need.",
      });
    const member = {
      orgId: caller.orgId,
      userId: await userFor(transaction, caller, request),
      role: request.role,
    };
    await insertMember(transaction, member);
    const token = await mintToken(transaction, {
      orgId: member.orgId,
      userId: member.userId,
      parentId: null,
      withinId: caller.tokenId,
      name: FIRST_TOKEN_NAME,
      lifetimeMs,
      isInvitation: true,
      scopes: minter.scopes,
      bound: true,
    });
    const added = { ...memberOf(await mustFind(transaction, member)), token };
    await attempt.done(transaction, added);
    return added;
  });
}

const FIRST_TOKEN_NAME = "invitation";
/** Of an organization: as many as it may have valid tokens by default. */
export const MEMBERS_MAX = 1_000;

export async function listMembersOf(
  context: Context,
  caller: Caller,
  params: PageParams,
): Promise<Page<Member>> {
  const page = await readPage("user", params, async (before, limit) => {
    const rows = await listMembers(context.db, { orgId: caller.orgId, before, limit });
    return rows.map((row) => ({ ...row, id: row.user_id }));
  });
  return { ...page, items: page.items.map(memberOf) };
}

/** What the member may do changes with the next request, also of tokens that it has. */
export async function changeRole(
  context: Context,
  caller: Caller,
  params: { readonly userId: string; readonly role: Role },
): Promise<Member> {
  const member = { orgId: caller.orgId, userId: checkUserId(params.userId), role: params.role };
  const changed = await context.db.transaction().execute(async (transaction) => {
    await holdMembers(transaction, caller.orgId);
    const own = await roleOf(transaction, caller);
    refuseAbove(own, (await mustFind(transaction, member)).role);
    refuseAbove(own, params.role);
    if (params.role !== "owner") await keepAnOwner(transaction, member);
    await setRole(transaction, member);
    return mustFind(transaction, member);
  });
  context.tokenCache.forget(member.userId);
  return memberOf(changed);
}

/** All tokens that the member has in this organization end, and those that came from them; others do nothing here any more. */
export async function removeMember(context: Context, caller: Caller, userId: string): Promise<void> {
  const member = { orgId: caller.orgId, userId: checkUserId(userId) };
  await context.db.transaction().execute(async (transaction) => {
    await holdMembers(transaction, caller.orgId);
    const own = await roleOf(transaction, caller);
    refuseAbove(own, (await mustFind(transaction, member)).role);
    await keepAnOwner(transaction, member);
    await holdUser(transaction, member.userId);
    await deleteMember(transaction, member);
    await revokeTokensIn(transaction, member);
  });
  context.tokenCache.forget(member.userId);
}

function checkAddition({ name, email, user_id: userId }: MemberAddRequest): void {
  if ((name === undefined) === (userId === undefined)) {
    throw new SkerryError("bad_request", 'Exactly one of "name" and "user_id" is needed.', {
      remediation: 'Send "name" for a new user, or "user_id" for a user that Skerry knows already.',
    });
  }
  if (userId !== undefined && email !== undefined) {
    throw new SkerryError(
      "bad_request",
      '"email" is for a new user; the user of "user_id" has one already or none.',
      {
        context: { field: "email" },
      },
    );
  }
  if (name !== undefined) checkName("name", name);
  if (email !== undefined) checkName("email", email);
}

/** The caller's role now. Who is not a member any more learns as little as a stranger. */
export async function roleOf(transaction: Queries, caller: Caller): Promise<Role> {
  const self = await findMember(transaction, caller);
  if (self === undefined) throw new SkerryError("organization_not_found", "There is no such organization.");
  if (hasRole(self.role, "admin")) return self.role;
  throw new SkerryError(
    "forbidden",
    `This call needs the role "admin"; yours in this organization is "${self.role}".`,
    {
      context: { required_role: "admin", role: self.role },
    },
  );
}

/** A member cannot give, change or take a role that is higher than their own. */
export function refuseAbove(own: Role, other: Role): void {
  if (hasRole(own, other)) return;
  throw new SkerryError("forbidden", `The role "${other}" is above yours, which is "${own}".`, {
    remediation: "Ask an owner of the organization.",
    context: { required_role: other, role: own },
  });
}

async function userFor(transaction: Queries, caller: Caller, request: MemberAddRequest): Promise<string> {
  if (request.user_id === undefined) {
    await refuseSecond(transaction, caller.orgId, request);
    const user = { id: newId("user"), name: request.name ?? "", email: request.email ?? null };
    await insertUser(transaction, user);
    return user.id;
  }
  const userId = request.user_id;
  if (!isId("user", userId) || !(await holdUserRow(transaction, userId))) {
    throw new SkerryError("user_not_found", "There is no such user.", {
      remediation: "`GET /v1/auth/me` tells users their ids.",
      context: { field: "user_id" },
    });
  }
  if ((await findMember(transaction, { orgId: caller.orgId, userId })) !== undefined) {
    throw new SkerryError("already_member", "The user is a member already.", {
      remediation: "Change the role of the member instead.",
      context: { user_id: userId },
    });
  }
  return userId;
}

/** Members are told apart by their names and addresses, and who adds one twice has most likely lost the first token. */
async function refuseSecond(
  transaction: Queries,
  orgId: string,
  { name = "", email }: MemberAddRequest,
): Promise<void> {
  const known = await findMemberCalled(transaction, orgId, { name, email: email ?? null });
  if (known === undefined) return;
  const what = known.name === name ? `is called "${name}"` : `has the address "${email}"`;
  throw new SkerryError("already_member", `A member ${what} already.`, {
    remediation:
      "`POST /v1/auth/tokens` with `user_id` mints another token for that member; another person needs another name.",
    context: { user_id: known.user_id },
  });
}

async function keepAnOwner(transaction: Queries, member: { orgId: string; userId: string }): Promise<void> {
  const { role } = await mustFind(transaction, member);
  if (role !== "owner" || (await hasOtherOwner(transaction, member))) return;
  throw new SkerryError("last_owner", "The last owner of an organization stays its owner.", {
    remediation: "Make another member an owner first.",
    context: { user_id: member.userId },
  });
}

export async function mustFind(db: Queries, member: { orgId: string; userId: string }): Promise<MemberRow> {
  const found = await findMember(db, member);
  if (found === undefined) throw memberNotFound();
  return found;
}

/** No resource has an id of another shape; looking for it would only carry odd bytes into SQL. */
export function checkUserId(userId: string): string {
  if (isId("user", userId)) return userId;
  throw memberNotFound();
}

function memberNotFound(): SkerryError {
  return new SkerryError("member_not_found", "The organization has no such member.");
}

function memberOf(row: MemberRow): Member {
  return {
    user_id: row.user_id,
    name: row.name,
    email: row.email,
    role: row.role,
    created_at: row.created_at.toISOString(),
  };
}
