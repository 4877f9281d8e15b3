import { HOST_OFFLINE_AFTER_S } from "@skerry/contract/hosts/host-status";
import { sql, type RawBuilder, type Selectable } from "kysely";
import { SET_BACK } from "../db/clock-set-back.ts";
import type { Queries, Tables } from "../db/database.ts";

export type HostRow = Selectable<Tables["hosts"]>;

/** Whether it was not heard of for so long that it is offline. A heartbeat from before the clock was set back does not say how long ago that was; the
 *  silence after it does. */
export function isOverdue(table = "hosts"): RawBuilder<boolean> {
  const heartbeat = sql.ref(`${table}.last_heartbeat`);
  const silence = sql.ref(`${table}.silent_since`);
  return sql<boolean>`(
    case when ${heartbeat} > now() + ${SET_BACK} then coalesce(${silence}, now()) else ${heartbeat} end
    <= now() - ${sql.lit(HOST_OFFLINE_AFTER_S)} * interval '1 second')`;
}

export function listHostRows(db: Queries): Promise<HostRow[]> {
  return db.selectFrom("hosts").selectAll().where("removed_at", "is", null).orderBy("id").execute();
}

export type HostInReach = Pick<HostRow, "id" | "address" | "version" | "unsettled" | "status">;

/** Hosts that can say what runs on them. */
export function hostsInReach(db: Queries): Promise<HostInReach[]> {
  return db
    .selectFrom("hosts")
    .select(["id", "address", "version", "unsettled", "status"])
    .where("status", "<>", "offline")
    .where("removed_at", "is", null)
    .orderBy("id")
    .execute();
}

/** All VMs that it came back with belong to their rows. Not where it was lost once more after the caller had read it. */
export async function settleHost(db: Queries, { id, version }: HostInReach): Promise<void> {
  await sql`update hosts set unsettled = false where id = ${id} and version = ${version}`.execute(db);
}

export function findHost(db: Queries, id: string): Promise<HostRow | undefined> {
  return db.selectFrom("hosts").selectAll().where("id", "=", id).executeTakeFirst();
}

export interface Reach {
  readonly address: string;
  /** Where other hosts reach it, ADDRESS:PORT, if they do. */
  readonly endpoint: string | null;
}

export function reachOf(db: Queries, id: string): Promise<Reach | undefined> {
  return db
    .selectFrom("hosts")
    .select(["address", sql<string | null>`facts ->> 'endpoint'`.as("endpoint")])
    .where("id", "=", id)
    .where("removed_at", "is", null)
    .executeTakeFirst();
}

/** ADDRESS:PORT at which hosts take requests to apps that other hosts pass on, by their ids. */
export async function edgeDoors(db: Queries): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ id: string; door: string }>`
    select id, facts ->> 'edge_door' as door from hosts
    where removed_at is null and facts ? 'edge_door' order by id`.execute(db);
  return new Map(rows.map(({ id, door }) => [id, door]));
}

/** Undefined where the host has been removed: the one that has its address now is not asked. */
export async function hostAddress(db: Queries, id: string): Promise<string | undefined> {
  const row = await db
    .selectFrom("hosts")
    .select("address")
    .where("id", "=", id)
    .where("removed_at", "is", null)
    .executeTakeFirst();
  return row?.address;
}

/** Says why a drained host still has something; null where its operator could change nothing. */
export async function setWaitsFor(db: Queries, hostId: string, what: string | null): Promise<void> {
  await sql`
    update hosts set waits_for = ${what}
    where id = ${hostId} and status = 'draining' and waits_for is distinct from ${what}`.execute(db);
}
