// For which sandboxes, and by which tokens of ours, access tokens were given away, and the digests of those: what opens a sandbox, and what a URL
// of a file may have been signed with.

import { sql } from "kysely";
import { sandboxStatusesAlive } from "@skerry/contract/sandboxes/sandbox-status";
import { BatchLoader } from "../db/batch-loader.ts";
import type { Database, Queries } from "../db/database.ts";

export interface GivenAccess {
  readonly sandbox_id: string;
  readonly org_id: string;
  readonly secret_sha256: string;
}

/** `digest`: of the access token. Two are kept, because two keys are accepted. */
export async function noteAccess(
  db: Queries,
  { sandbox_id, org_id, secret_sha256 }: GivenAccess,
  digest: Buffer,
): Promise<void> {
  await sql`
    insert into e2b_accesses as known (sandbox_id, org_id, secret_sha256, tokens_sha256)
    values (${sandbox_id}, ${org_id}, ${secret_sha256}, array[${digest}::bytea])
    on conflict (sandbox_id, secret_sha256) do update set noted_at = now(),
      tokens_sha256 = (excluded.tokens_sha256 || array_remove(known.tokens_sha256, ${digest}::bytea))[1:2]`.execute(
    db,
  );
}

interface GivenToken {
  readonly sandboxId: string;
  /** Of the access token. */
  readonly digest: Buffer;
}

/** Whether this access token was given away for this sandbox. `ended`: there is no such sandbox any more, and its rows may have been forgotten.
 *  Undefined: it was not. */
export function givenState(
  db: Database,
  { sandboxId, digest }: GivenToken,
): Promise<"given" | "ended" | undefined> {
  return states.find(db, `${sandboxId} ${digest.toString("hex")}`);
}

const states = new BatchLoader<"given" | "ended">(async (db, keys) => {
  const ids = keys.map((key) => key.split(" ", 1)[0]);
  const { rows } = await sql<{ key: string; state: "given" | "ended" }>`
    select key, state from (
      select asked.key, case
        when exists (
          select from e2b_accesses a where a.sandbox_id = asked.id
            and decode(split_part(asked.key, ' ', 2), 'hex') = any(a.tokens_sha256)) then 'given'
        when not exists (
          select from sandboxes s where s.id = asked.id and s.status in (${sql.join([...sandboxStatusesAlive])})) then 'ended'
      end as state
      from unnest(${ids}::text[], ${[...keys]}::text[]) as asked (id, key)
    ) all_asked where state is not null`.execute(db);
  return rows.map(({ key, state }) => [key, state] as const);
});

interface Asked {
  /** By the database's clock. */
  readonly since: Date;
  readonly perOrganization: number;
  readonly inAll: number;
}

interface NotedAccess extends GivenAccess {
  readonly tokens_sha256: readonly Buffer[];
  readonly noted_at: Date;
}

/** Those since then, oldest first: the newest of each organization, and of all. Those of sandboxes that have ended are left out. */
export async function accessesSince(
  db: Queries,
  { since, perOrganization, inAll }: Asked,
): Promise<NotedAccess[]> {
  const { rows } = await sql<NotedAccess>`
    select sandbox_id, org_id, secret_sha256, tokens_sha256, noted_at from (
      select a.*, row_number() over (partition by a.org_id order by noted_at desc) as place
      from e2b_accesses a join sandboxes s on s.id = a.sandbox_id
      where noted_at > ${since} and s.status in (${sql.join([...sandboxStatusesAlive])})
    ) ranked
    where place <= ${perOrganization} order by noted_at desc limit ${inAll}`.execute(db);
  return rows.toReversed();
}
