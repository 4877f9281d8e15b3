import { sql } from "kysely";
import type { Queries } from "../db/database.ts";

/** Undefined where there is none. Placements and changes of members wait for the same lock. */
export async function lockForDeletion(
  transaction: Queries,
  orgId: string,
): Promise<{ readonly operator: boolean; readonly members: readonly string[] } | undefined> {
  const { rows } = await sql<{ operator: boolean }>`
    select operator from organizations where id = ${orgId} and deleted_at is null for no key update`.execute(
    transaction,
  );
  const [organization] = rows;
  if (organization === undefined) return undefined;
  // A statement of its own: it must see who became a member while the first one waited.
  const { rows: members } = await sql<{ user_id: string }>`
    select user_id from memberships where org_id = ${orgId} order by user_id`.execute(transaction);
  return { ...organization, members: members.map((member) => member.user_id) };
}

/** Those that run or could run again. Of a sandbox that has failed nothing is left but its row, until the end of its time. */
export async function vmsLeftIn(
  transaction: Queries,
  orgId: string,
): Promise<{ readonly sandboxes: number; readonly machines: number }> {
  const { rows } = await sql<{ sandboxes: number; machines: number }>`
    select
      count(*) filter (where kind = 'sandbox' and status <> 'failed')::integer as sandboxes,
      count(*) filter (where kind = 'machine')::integer as machines
    from vms where org_id = ${orgId} and status <> 'destroyed'`.execute(transaction);
  return rows[0] ?? { sandboxes: 0, machines: 0 };
}

export async function isDeleted(db: Queries, orgId: string): Promise<boolean> {
  const { rows } =
    await sql`select 1 from organizations where id = ${orgId} and deleted_at is not null`.execute(db);
  return rows.length > 0;
}

/** Its row and its audit log stay. */
export async function markDeleted(transaction: Queries, orgId: string): Promise<void> {
  await sql`
    update organizations set deleted_at = now(), allowed_private_cidrs = '{}' where id = ${orgId}`.execute(
    transaction,
  );
}
