import { sql, type Selectable } from "kysely";
import type { Queries, Tables } from "../db/database.ts";

export type HostRow = Selectable<Tables["hosts"]>;

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
