import { sql } from "kysely";
import type { Database } from "../db/database.ts";
import type { VmKind } from "./vm-kind.ts";
import { passes, type VmTraits } from "./vm-filter.ts";

/** How many have each status, without those that are destroyed: there is no end to how many those become. */
export async function countVms(
  db: Database,
  noun: VmKind["noun"],
  traits: VmTraits,
): Promise<[status: string, vms: number][]> {
  const { rows } = await sql<{ status: string; vms: number }>`
    select status, count(*)::integer as vms from vms
    where kind = ${noun} and ${passes(traits)} and status <> 'destroyed' group by status`.execute(db);
  return rows.map(({ status, vms }) => [status, vms]);
}
