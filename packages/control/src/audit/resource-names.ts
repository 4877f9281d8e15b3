// Names that people know things by, for the ids of a page of the audit log. The log itself keeps ids alone; a
// name is the one of now.

import { sql } from "kysely";
import type { AuditEvent } from "@skerry/contract/audit/audit-event";
import type { Database } from "../db/database.ts";

/** Null where there is no name, or the thing is gone from the database. */
export async function withNames(
  db: Database,
  orgId: string,
  events: readonly AuditEvent[],
): Promise<AuditEvent[]> {
  const ids = events.flatMap(({ actor, resource }) => [actor.user_id, actor.token_id, resource.id]);
  const names = await namesOf(
    db,
    orgId,
    ids.filter((id) => id !== null),
  );
  const nameOf = (id: string | null) => (id === null ? null : (names.get(id) ?? null));
  return events.map((event) => ({
    ...event,
    actor: {
      ...event.actor,
      user_name: nameOf(event.actor.user_id),
      token_name: nameOf(event.actor.token_id),
    },
    resource: { ...event.resource, name: nameOf(event.resource.id) },
  }));
}

/**
 * Names of this organization's things alone: a caller chooses the id in the path of a request, and the event
 * of its refusal must not tell what another organization calls its own. Users are those who are or were given
 * a token here. Hosts are the operator's.
 */
async function namesOf(
  db: Database,
  orgId: string,
  wanted: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ids = sql`any(${[...new Set(wanted)]}::text[])`;
  const { rows } = await sql<{ id: string; name: string }>`
    select id, name from vms where id = ${ids} and org_id = ${orgId} and name is not null
    union all select id, name from snapshots where id = ${ids} and org_id = ${orgId} and name is not null
    union all select id, name from templates where id = ${ids} and org_id = ${orgId}
    union all select id, name from builds where id = ${ids} and org_id = ${orgId}
    union all select id, name from api_tokens where id = ${ids} and org_id = ${orgId}
    union all select id, name from organizations where id = ${ids} and id = ${orgId}
    union all select id, name from hosts where id = ${ids}
      and exists (select 1 from organizations where id = ${orgId} and operator)
    union all select id, name from users where id = ${ids}
      and (exists (select 1 from memberships where user_id = users.id and org_id = ${orgId})
        or exists (select 1 from api_tokens where user_id = users.id and org_id = ${orgId}))`.execute(db);
  return new Map(rows.map(({ id, name }) => [id, name]));
}
