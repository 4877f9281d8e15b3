// Rows of the authorities that hosts trust, and what a change of them waits for.

import { sql } from "kysely";
import type { HostStatus } from "@skerry/contract/hosts/host-status";
import type { Queries } from "../db/database.ts";
import { SET_BACK } from "../db/clock-set-back.ts";

export interface CertificateAuthorityRow {
  readonly number: number;
  readonly status: "next" | "current" | "previous";
  /** PEM. */
  readonly certificate: string;
  /** PEM; null where it is sealed. */
  readonly private_key: string | null;
  readonly sealed_key: Buffer | null;
  readonly created_at: Date;
  readonly leave_offline: boolean;
  /** For so long that every replica knows of its status. */
  readonly known: boolean;
}

export type NewAuthorityRow = Pick<
  CertificateAuthorityRow,
  "certificate" | "private_key" | "sealed_key" | "status"
>;

/** Longer than a replica goes without a look at the authorities (`KNOWN_MS`), and than its last look takes. */
const KNOWN_EVERYWHERE_S = 30;

/** Those that are trusted; the one that signs is the first. `locked`: none changes its status until the transaction ends. */
export async function findCertificateAuthorities(
  db: Queries,
  locked?: "share" | "update",
): Promise<CertificateAuthorityRow[]> {
  const lock = locked === undefined ? sql`` : locked === "share" ? sql`for share` : sql`for update`;
  const { rows } = await sql<CertificateAuthorityRow>`
    select number, status, certificate, private_key, sealed_key, created_at, leave_offline,
      status_since < now() - ${sql.lit(KNOWN_EVERYWHERE_S)} * interval '1 second' or status_since > now() + ${SET_BACK} as known
    from authority order by status <> 'current', number ${lock}`.execute(db);
  return rows;
}

/** What two replicas ask for at the same time is made once: afterwards there is this one, or that of the replica that was first. */
export async function addCertificateAuthority(db: Queries, made: NewAuthorityRow): Promise<void> {
  await db
    .insertInto("authority")
    .values(made)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** The plain key is gone with it. */
export async function storeSealedKey(db: Queries, number: number, sealed: Buffer): Promise<void> {
  await db
    .updateTable("authority")
    .set({ private_key: null, sealed_key: sealed })
    .where("number", "=", number)
    .execute();
}

/** The next one signs from now on. The caller holds the rows. */
export async function promoteAuthority(db: Queries, next: CertificateAuthorityRow): Promise<void> {
  // Two statements, because no two rows have one status at any moment.
  await sql`
    update authority set status = 'previous', status_since = now(), leave_offline = ${next.leave_offline}
    where status = 'current'`.execute(db);
  await sql`update authority set status = 'current', status_since = now(), leave_offline = false where number = ${next.number}`.execute(
    db,
  );
}

export async function removeAuthority(db: Queries, number: number): Promise<void> {
  await db.deleteFrom("authority").where("number", "=", number).execute();
}

export async function leaveOffline(db: Queries): Promise<void> {
  await db.updateTable("authority").set({ leave_offline: true }).where("status", "<>", "current").execute();
}

export interface BehindHost {
  readonly id: string;
  readonly name: string;
  readonly status: HostStatus;
}

/** What the certificate of a host is to be: who signs it, and whom the host is to trust beside. */
export interface Certification {
  readonly certifiedBy: number;
  readonly trusts: readonly number[];
}

/** Hosts that were not brought this yet: that do not trust the one, or were not signed by the other. A host whose certificate has ended cannot
 *  be reached by it, so nothing waits for it. */
export async function hostsBehind(
  db: Queries,
  { trusting, certifiedBy, leaveOffline: isLeft }: Behind,
): Promise<BehindHost[]> {
  const { rows } = await sql<BehindHost>`
    select id, name, status from hosts
    where removed_at is null and certificate_expires_at > now() and not (${isLeft} and ${isAway})
      and not (trusts @> ${trusting}::integer[] and (${certifiedBy}::integer is null or certified_by is not distinct from ${certifiedBy}::integer))
    order by id limit ${BEHIND_MAX}`.execute(db);
  return rows;
}

/** In maintenance a host may be off, too. */
export const isAway = sql<boolean>`(status = 'offline' or status = 'maintenance' and silent_since is not null)`;

const BEHIND_MAX = 100;

interface Behind {
  readonly trusting: readonly number[];
  /** Null: by any authority. */
  readonly certifiedBy: number | null;
  readonly leaveOffline: boolean;
}

/** Of hosts that are told to trust others than these. */
export async function hostsTrustingMore(db: Queries, trusted: readonly number[]): Promise<BehindHost[]> {
  const { rows } = await sql<BehindHost>`
    select id, name, status from hosts
    where removed_at is null and certificate_expires_at > now() and not (trusts <@ ${trusted}::integer[])
      and trusts && ${trusted}::integer[]
    order by id limit ${BEHIND_MAX}`.execute(db);
  return rows;
}
