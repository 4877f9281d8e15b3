// Credentials of registries. A password comes in by `setRegistryCredential` and leaves by `openRegistryLogins` alone, for the step of a build that pulls.

import { SkerryError } from "@skerry/contract/errors";
import {
  REGISTRY_CREDENTIALS_MAX,
  type RegistryCredential,
  type RegistryCredentialList,
  type RegistryCredentialRequest,
} from "@skerry/contract/registries/registry-credential";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { lockOrganization } from "../limits/organization-limits.ts";
import { boundReached } from "../limits/quota-exceeded.ts";
import type { SealedFor } from "../sealing/sealed-value.ts";
import { findRegistries, putRegistry, removeRegistry, type RegistryRow } from "./registry-store.ts";

/** Name and password for one registry. */
export interface RegistryLogin {
  readonly host: string;
  readonly username: string;
  readonly password: string;
}

export async function listRegistryCredentials(
  { db }: Context,
  { orgId }: Caller,
): Promise<RegistryCredentialList> {
  return { items: (await findRegistries(db, orgId)).map(shown) };
}

interface Wanted extends RegistryCredentialRequest {
  readonly host: string;
}

export async function setRegistryCredential(
  { db, sealing }: Context,
  { orgId, userId }: Caller,
  { host, username, password }: Wanted,
): Promise<RegistryCredential> {
  const written = await db.transaction().execute(async (transaction) => {
    // Those of one organization are set one after the other, and not while it is deleted.
    if (!(await lockOrganization(transaction, orgId)))
      throw new SkerryError("organization_not_found", "There is no such organization.");
    const rows = await findRegistries(transaction, orgId);
    const before = rows.find((row) => row.host === host);
    if (before === undefined && rows.length >= REGISTRY_CREDENTIALS_MAX)
      throw boundReached({
        quota: "registry_credentials",
        nouns: "registry credentials",
        used: rows.length,
        limit: REGISTRY_CREDENTIALS_MAX,
      });
    const version = (before?.version ?? 0) + 1;
    const about = sealedFor({ org_id: orgId, host, version });
    return putRegistry(transaction, {
      ...{ org_id: orgId, host, version, username, set_by: userId },
      sealed_password: await sealing.seal(transaction, about, password),
    });
  });
  return shown(written);
}

export async function deleteRegistryCredential(
  { db }: Context,
  { orgId }: Caller,
  host: string,
): Promise<void> {
  if (await removeRegistry(db, orgId, host)) return;
  throw new SkerryError(
    "registry_credential_not_found",
    `The organization has no credentials for "${host}".`,
    { context: { host } },
  );
}

/** Those for these registries, or for all. Throws `secrets_unavailable` or `secret_damaged`. */
export async function openRegistryLogins(
  { db, sealing }: Pick<Context, "db" | "sealing">,
  orgId: string,
  hosts?: readonly string[],
): Promise<readonly RegistryLogin[]> {
  const rows = (await findRegistries(db, orgId)).filter((row) => hosts?.includes(row.host) ?? true);
  return Promise.all(
    rows.map(async (row) => ({
      host: row.host,
      username: row.username,
      password: await sealing.open(db, sealedFor(row), row.sealed_password),
    })),
  );
}

/** Whether there are any for these registries. */
export async function hasRegistryLogins(
  { db }: Pick<Context, "db">,
  orgId: string,
  hosts: readonly string[],
): Promise<boolean> {
  return (await findRegistries(db, orgId)).some(({ host }) => hosts.includes(host));
}

function sealedFor({ org_id, host, version }: Pick<RegistryRow, "org_id" | "host" | "version">): SealedFor {
  return { owner: org_id, scope: "registry-credential", name: host, version };
}

function shown({ host, username, set_by, set_at }: RegistryRow): RegistryCredential {
  return { host, username, set_by, set_at: set_at.toISOString() };
}
