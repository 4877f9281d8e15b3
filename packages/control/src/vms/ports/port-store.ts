// Which ports of a VM are public: a column of its row, so that they end with it.

import { sql } from "kysely";
import type { Database } from "../../db/database.ts";
import { EVERY_PORT } from "../public-ports.ts";

export const PUBLIC_PORTS_MAX = 100;

interface Owned {
  readonly orgId: string;
  readonly id: string;
}

export async function publicPorts(db: Database, { orgId, id }: Owned): Promise<readonly number[]> {
  const { rows } = await sql<{ public_ports: number[] }>`
    select public_ports from vms where id = ${id} and org_id = ${orgId}`.execute(db);
  return rows[0]?.public_ports ?? [];
}

/** False where as many are public as may be. */
export async function openPort(
  db: Database,
  { orgId, id, port }: Owned & { readonly port: number },
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update vms set public_ports = array_append(array_remove(public_ports, ${port}::integer), ${port}::integer)
    where id = ${id} and org_id = ${orgId}
      and cardinality(array_remove(public_ports, ${port}::integer)) < ${PUBLIC_PORTS_MAX}`.execute(db);
  return numAffectedRows > 0n;
}

/** Where all ports were public, none is any more: a port too few is opened again, and one too many is an open door. */
export async function closePort(
  db: Database,
  { orgId, id, port }: Owned & { readonly port: number },
): Promise<void> {
  await sql`
    update vms set public_ports = array_remove(array_remove(public_ports, ${port}::integer), ${EVERY_PORT}::integer)
    where id = ${id} and org_id = ${orgId}`.execute(db);
}
