import { sql } from "kysely";
import { moveStatusesOnTarget } from "@skerry/contract/moves/move-status";
import type { Queries } from "../db/database.ts";

/** Leaves out what is on its way to a host and not the host's yet. Read it after the host's list and before the rows. */
export async function withoutArrivals<Vm extends { readonly id: string; readonly execution_id: string }>(
  db: Queries,
  vms: readonly Vm[],
): Promise<Vm[]> {
  if (vms.length === 0) return [];
  const { rows } = await sql<{ to_execution_id: string }>`
    select to_execution_id from moves
    where vm_id = any(${vms.map(({ id }) => id)}::text[]) and status in (${sql.join(moveStatusesOnTarget)})`.execute(
    db,
  );
  const arriving = new Set(rows.map((row) => row.to_execution_id));
  return vms.filter((vm) => !arriving.has(vm.execution_id));
}
