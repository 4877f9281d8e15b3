// For which sandboxes, and by which tokens of ours, access tokens were given away: what a URL of a file may have been signed with.

import { sql } from "kysely";
import { sandboxStatusesAlive } from "@skerry/contract/sandboxes/sandbox-status";
import type { Queries } from "../db/database.ts";

export interface GivenAccess {
  readonly sandbox_id: string;
  readonly org_id: string;
  readonly secret_sha256: string;
}

export async function noteAccess(
  db: Queries,
  { sandbox_id, org_id, secret_sha256 }: GivenAccess,
): Promise<void> {
  await sql`
    insert into e2b_accesses (sandbox_id, org_id, secret_sha256) values (${sandbox_id}, ${org_id}, ${secret_sha256})
    on conflict (sandbox_id, secret_sha256) do update set noted_at = now()`.execute(db);
}

interface Asked {
  /** By the database's clock. */
  readonly since: Date;
  readonly perOrganization: number;
  readonly inAll: number;
}

/** Those since then, oldest first: the newest of each organization, and of all. Those of sandboxes that have ended are left out. */
export async function accessesSince(
  db: Queries,
  { since, perOrganization, inAll }: Asked,
): Promise<(GivenAccess & { readonly noted_at: Date })[]> {
  const { rows } = await sql<GivenAccess & { readonly noted_at: Date }>`
    select sandbox_id, org_id, secret_sha256, noted_at from (
      select a.*, row_number() over (partition by a.org_id order by noted_at desc) as place
      from e2b_accesses a join sandboxes s on s.id = a.sandbox_id
      where noted_at > ${since} and s.status in (${sql.join([...sandboxStatusesAlive])})
    ) ranked
    where place <= ${perOrganization} order by noted_at desc limit ${inAll}`.execute(db);
  return rows.toReversed();
}
