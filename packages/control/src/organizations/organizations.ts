import { newId } from "@skerry/contract/ids";
import type {
  Me,
  Organization,
  OrganizationCreateRequest,
  OrganizationUpdateRequest,
} from "@skerry/contract/organizations/organization";
import { SkerryError } from "@skerry/contract/errors";
import { findMember, insertMember } from "./member-store.ts";
import {
  findOrganization,
  insertOrganization,
  listOrganizations,
  updateOrganization,
  type OrganizationRow,
} from "./organization-store.ts";
import { findToken } from "./token-store.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { checkName } from "../values/check-text.ts";
import type { Attempt, Creation } from "../idempotency/create-once.ts";
import { readPage, type Page, type PageParams } from "../values/page.ts";

/** An organization whose first owner is the caller. */
export function organizationCreation(
  context: Context,
  caller: Caller,
  request: OrganizationCreateRequest,
): Creation<Organization> {
  return { create: (attempt) => createOrganization(context, { caller, request }, attempt) };
}

async function createOrganization(
  context: Context,
  { caller, request }: { readonly caller: Caller; readonly request: OrganizationCreateRequest },
  attempt: Attempt,
): Promise<Organization> {
  const name = checkName("name", request.name);
  const place = { orgId: newId("organization"), userId: caller.userId };
  return context.db.transaction().execute(async (transaction) => {
    const egress_default = request.egress_default ?? "allow_all";
    await insertOrganization(transaction, { id: place.orgId, name, egress_default });
    await insertMember(transaction, { ...place, role: "owner" });
    const created = organizationOf(await findOrganization(transaction, place));
    await attempt.done(transaction, created);
    return created;
  });
}

/** Those that the caller is a member of. */
export async function listOrganizationsOf(
  context: Context,
  caller: Caller,
  params: PageParams,
): Promise<Page<Organization>> {
  const page = await readPage("organization", params, (before, limit) =>
    listOrganizations(context.db, { ...caller, before, limit }),
  );
  return { ...page, items: page.items.map(organizationOf) };
}

export async function getOrganization(context: Context, caller: Caller): Promise<Organization> {
  return organizationOf(await findOrganization(context.db, caller));
}

export async function changeOrganization(
  context: Context,
  caller: Caller,
  request: OrganizationUpdateRequest,
): Promise<Organization> {
  if (request.name !== undefined) checkName("name", request.name);
  await updateOrganization(context.db, caller.orgId, request);
  return getOrganization(context, caller);
}

export async function describeCaller(context: Context, caller: Caller): Promise<Me> {
  const [organization, member, token] = await Promise.all([
    findOrganization(context.db, caller),
    findMember(context.db, caller),
    findToken(context.db, caller.tokenId),
  ]);
  if (organization === undefined || member === undefined || token === undefined) throw organizationNotFound();
  return {
    user_id: member.user_id,
    name: member.name,
    email: member.email,
    organization_id: organization.id,
    organization_name: organization.name,
    role: caller.role,
    token_id: token.id,
    token_name: token.name,
    scopes: [...caller.scopes],
    expires_at: token.expires_at?.toISOString() ?? null,
  };
}

/** Undefined where the caller has been removed since the request was allowed. */
function organizationOf(row: OrganizationRow | undefined): Organization {
  if (row === undefined) throw organizationNotFound();
  return {
    id: row.id,
    name: row.name,
    egress_default: row.egress_default,
    allowed_private_cidrs: [...row.allowed_private_cidrs],
    audit_details: row.audit_details,
    role: row.role,
    created_at: row.created_at.toISOString(),
  };
}

function organizationNotFound(): SkerryError {
  return new SkerryError("organization_not_found", "There is no such organization.");
}
