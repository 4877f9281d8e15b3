// The row of a machine after a request has changed it.

import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import type { RestartDisk, RestartPolicy } from "@skerry/contract/machines/machine-status";
import type { Queries } from "../db/database.ts";
import type { PendingValues, StoredCheck } from "../db/tables/machine-tables.ts";
import { refuseTakenName } from "../vms/vm-names.ts";
import { jsonOf, machineTable, restartAt, restartWaits, type MachineRow } from "./machine-store.ts";

/** Columns that a request changes in every status of a machine. */
export interface MachineUpdate {
  readonly name: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly stop_timeout_ms: number;
  readonly restart_policy: RestartPolicy;
  readonly restart_max_retries: number | null;
  readonly restart_disk: RestartDisk;
  readonly pending: PendingValues | null;
  readonly health_check: StoredCheck | null;
  readonly stop_after_idle_ms: number | null;
  readonly autostart: boolean;
}

/**
 * Writes all of it where the row still has what the update was made of. The version stays: the replica that
 * works on the machine goes on. Throws `name_taken`.
 */
export function updateMachineRow(
  db: Queries,
  seen: MachineRow,
  { name, metadata, pending, health_check: check, ...others }: MachineUpdate,
): Promise<MachineRow | undefined> {
  const neverRan = seen.status === "failed" && seen.started_at === null;
  return db
    .updateTable("machines")
    .set({
      ...others,
      name,
      // One that never ran has given its name up.
      unique_name: neverRan ? null : name,
      metadata: JSON.stringify(metadata),
      pending: jsonOf(pending),
      health_check: jsonOf(check),
      ...(isDeepStrictEqual(check, seen.health_check) ? {} : { check_version: sql`check_version + 1` }),
    })
    .where("id", "=", seen.id)
    .where("version", "=", seen.version)
    .where("status", "=", seen.status)
    .where("changed_seq", "=", seen.changed_seq)
    .returningAll()
    .returning(restartAt.as("restart_at"))
    .returning(restartWaits.as("restart_waits"))
    .executeTakeFirst()
    .catch(refuseTakenName(machineTable, name));
}
