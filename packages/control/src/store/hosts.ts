import { sql, type Selectable } from "kysely";
import type { Queries, Tables } from "./database.ts";

export type HostRow = Selectable<Tables["hosts"]>;

export function listHosts(db: Queries): Promise<HostRow[]> {
  return db.selectFrom("hosts").selectAll().where("removed_at", "is", null).orderBy("id").execute();
}

/** Hosts that can say what runs on them. */
export function hostsInReach(db: Queries): Promise<Pick<HostRow, "id" | "address">[]> {
  return db
    .selectFrom("hosts")
    .select(["id", "address"])
    .where("status", "<>", "offline")
    .where("removed_at", "is", null)
    .orderBy("id")
    .execute();
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

/** Undefined where the host has been removed: whoever is there now is not asked. */
export async function hostAddress(db: Queries, id: string): Promise<string | undefined> {
  const row = await db
    .selectFrom("hosts")
    .select("address")
    .where("id", "=", id)
    .where("removed_at", "is", null)
    .executeTakeFirst();
  return row?.address;
}
