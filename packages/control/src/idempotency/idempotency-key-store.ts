// The ledger of Idempotency-Keys. Each write names its attempt, and is refused when that was taken over.

import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { isAhead } from "../db/clock-set-back.ts";
import { prepared } from "../db/prepared.ts";
import { asyncCommit } from "../db/async-commit.ts";
import { ago } from "../db/steady-time.ts";

/** Whose key it is. Another organization or user has a ledger of its own. */
export interface KeyOwner {
  readonly orgId: string;
  readonly userId: string;
  readonly key: string;
}

/** A key in the hands of one attempt. */
export interface Claim extends KeyOwner {
  readonly attemptId: string;
  readonly fingerprint: Buffer;
}

export interface LedgerEntry {
  readonly fingerprint: Buffer;
  readonly attempt_id: string;
  readonly resource_id: string | null;
  readonly answer: Buffer | null;
  readonly token_id: string | null;
  /** The attempt has shown no sign of life for too long. Means nothing once there is a resource. */
  readonly lapsed: boolean;
}

/** Longer than any request needs to get as far as its resource's transaction. */
const CLAIM_MS = 15_000;
const KEPT_HOURS = 24;

const claimedUntil = sql`now() + ${CLAIM_MS} * interval '1 millisecond'`;
const ancient = ago(sql`${KEPT_HOURS} * interval '1 hour'`);

/** True where the key was unused, or forgotten by now: it is this attempt's. The transaction that writes the resource brings the claim to
 *  the disk with it. */
export async function claimIdempotencyKey(db: Database, claim: Claim): Promise<boolean> {
  const { rows } = await sql`
    insert into idempotency_keys as k (org_id, user_id, key, fingerprint, attempt_id, claimed_until)
    select ${claim.orgId}, ${claim.userId}, ${claim.key}, ${claim.fingerprint}::bytea, ${claim.attemptId}, ${claimedUntil}
    from ${asyncCommit}
    on conflict (org_id, user_id, key) do update set
      fingerprint = excluded.fingerprint, attempt_id = excluded.attempt_id, claimed_until = excluded.claimed_until,
      created_at = now(), resource_id = null, answer = null, token_id = null
    where k.created_at < ${ancient}
    returning 1 ${prepared}`.execute(db);
  return rows.length > 0;
}

export async function findKey(db: Database, owner: KeyOwner): Promise<LedgerEntry | undefined> {
  const { rows } = await sql<LedgerEntry>`
    select fingerprint, attempt_id, resource_id, answer, token_id, not ${isAhead("claimed_until", CLAIM_MS)} as lapsed
    from idempotency_keys
    where ${theKey(owner)}`.execute(db);
  return rows[0];
}

/** Takes the key from an attempt that came to nothing; false where another request was faster, or the attempt succeeded after all. */
export async function takeOverKey(db: Database, claim: Claim, from: LedgerEntry): Promise<boolean> {
  const { rows } = await sql`
    update idempotency_keys set attempt_id = ${claim.attemptId}, claimed_until = ${claimedUntil}, resource_id = null
    where ${theKey(claim)} and attempt_id = ${from.attempt_id} and answer is null
      and resource_id is not distinct from ${from.resource_id}
    returning 1`.execute(db);
  return rows.length > 0;
}

/** From now on the resource says what becomes of the attempt. False where the attempt has lost its key. */
export async function nameResource(db: Queries, claim: Claim, resourceId: string): Promise<boolean> {
  const { rows } = await sql`
    update idempotency_keys set resource_id = ${resourceId}
    where ${theKey(claim)} and attempt_id = ${claim.attemptId}
    returning 1 ${prepared}`.execute(db);
  return rows.length > 0;
}

/** The last word about the key. False where the attempt has lost it. */
export async function keepAnswer(
  db: Queries,
  claim: Pick<Claim, keyof KeyOwner | "attemptId">,
  { answer, tokenId }: { readonly answer: Buffer; readonly tokenId: string },
): Promise<boolean> {
  const { rows } = await sql`
    update idempotency_keys set answer = ${answer}, token_id = ${tokenId}
    where ${theKey(claim)} and attempt_id = ${claim.attemptId} and answer is null
    returning 1`.execute(db);
  return rows.length > 0;
}

/** The same for a resource that is committed already: should it be undone, the resource still tells what the answer was. */
export async function keepAnswerAfterwards(
  db: Database,
  claim: Pick<Claim, keyof KeyOwner | "attemptId">,
  { answer, tokenId }: { readonly answer: Buffer; readonly tokenId: string },
): Promise<void> {
  await sql`
    update idempotency_keys set answer = ${answer}, token_id = ${tokenId} from ${asyncCommit}
    where ${theKey(claim)} and attempt_id = ${claim.attemptId} and answer is null ${prepared}`.execute(db);
}

/** For an attempt that failed before it wrote anything: the next one begins afresh. */
export async function releaseKey(db: Database, claim: Claim): Promise<void> {
  // A commit whose confirmation was lost may still be under way; then this waits for it, and finds the resource.
  await sql`
    delete from idempotency_keys
    where ${theKey(claim)} and attempt_id = ${claim.attemptId} and resource_id is null and answer is null`.execute(
    db,
  );
}

/** Removes up to `limit` entries that are old enough to be forgotten; returns how many. */
export async function sweepIdempotencyKeys(db: Database, limit: number): Promise<number> {
  const { rows } = await sql`
    delete from idempotency_keys
    where (org_id, user_id, key) in (
      select org_id, user_id, key from idempotency_keys
      where created_at < ${ancient} order by created_at limit ${limit} for update skip locked
    )
    returning 1`.execute(db);
  return rows.length;
}

function theKey(owner: KeyOwner) {
  return sql`org_id = ${owner.orgId} and user_id = ${owner.userId} and key = ${owner.key}`;
}
