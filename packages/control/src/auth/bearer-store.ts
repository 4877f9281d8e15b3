// Who calls: tokens by their secrets, with what their users are in the organizations that requests name.

import { sql } from "kysely";
import type { Role } from "@skerry/contract/organizations/roles";
import type { Scope } from "@skerry/contract/organizations/scopes";
import type { Database } from "../db/database.ts";
import { BatchLoader } from "../db/batch-loader.ts";
import { keyOf, type Credentials } from "./credentials.ts";
import { prepared } from "../db/prepared.ts";

interface Membership {
  readonly org_id: string;
  readonly role: Role;
  readonly operator: boolean;
  readonly audit_details: boolean;
}

/** Who a token speaks for. `membership` is null where the user is no member of the organization that was asked for. */
export interface Bearer {
  readonly token_id: string;
  readonly user_id: string;
  readonly scopes: readonly Scope[];
  /** Time until the token expires, negative where it has expired; null: until it is revoked. */
  readonly expires_in_ms: number | null;
  /** Milliseconds since 1970, by the database's clock. */
  readonly expires_at_ms: number | null;
  /** `last_used_at` is due to be written. */
  readonly stale: boolean;
  readonly membership: Membership | null;
}

/** `last_used_at` is exact to this many seconds: a write per request would cost more than the figure is worth. */
const LAST_USED_RESOLUTION_S = 60;

/** Undefined for a token that is unknown or revoked. One that has expired is found: only its bearer knows its secret, and may hear when that was. */
export function findBearer(db: Database, credentials: Credentials): Promise<Bearer | undefined> {
  return batches.find(db, keyOf(credentials));
}

type Row = Omit<Bearer, "membership"> & Membership & { readonly key: string };

/**
 * Tokens are found by the hash of their secrets. How long an index takes to say that a hash is not there tells nothing about the
 * secrets behind those that are: to ask for a chosen hash one must know its preimage. So nothing is compared that would have to be
 * compared in constant time.
 *
 * A session ends also where it is not used; without an idle limit that time is null, which `least` passes over.
 */
const batches = new BatchLoader<Bearer>(async (db, keys) => {
  const wanted = keys.map((key) => key.split(" "));
  const { rows } = await sql<Row>`
    select w.digest || ' ' || w.org_id as key, t.id as token_id, t.user_id, t.scopes, m.org_id, m.role, o.operator, o.audit_details,
      (extract(epoch from t.ends_at - now()) * 1000)::double precision as expires_in_ms,
      (extract(epoch from t.ends_at) * 1000)::double precision as expires_at_ms,
      t.last_used_at is null or t.last_used_at < now() - ${LAST_USED_RESOLUTION_S} * interval '1 second' as stale
    from unnest(${wanted.map(([digest]) => digest)}::text[], ${wanted.map(([, orgId]) => orgId)}::text[]) as w (digest, org_id)
    join lateral (
      select *, least(expires_at, coalesce(last_used_at, created_at) + idle_s * interval '1 second') as ends_at
      from api_tokens where secret_sha256 = decode(w.digest, 'hex')
    ) t on true
    left join memberships m on m.user_id = t.user_id and m.org_id = coalesce(nullif(w.org_id, ''), t.org_id)
      and (m.org_id = t.org_id or not t.bound)
    left join organizations o on o.id = m.org_id
    where t.revoked_at is null ${prepared}`.execute(db);
  return rows.map(({ key, org_id, role, operator, audit_details, ...bearer }) => [
    key,
    { ...bearer, membership: org_id === null ? null : { org_id, role, operator, audit_details } },
  ]);
});

/**
 * Replicas that see the same stale figure write it once. The first use makes an invitation a token like
 * others.
 */
export async function recordUse(db: Database, tokenId: string): Promise<void> {
  await sql`
    update api_tokens set last_used_at = now(), after_first_use = null,
      expires_at = case when after_first_use is null then expires_at else nullif(after_first_use, 'infinity') end
    where id = ${tokenId}
      and (last_used_at is null or last_used_at < now() - ${LAST_USED_RESOLUTION_S} * interval '1 second')`.execute(
    db,
  );
}
