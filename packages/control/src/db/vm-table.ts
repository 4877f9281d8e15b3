import { kindOf } from "@skerry/contract/ids";
import { sql } from "kysely";

/** The table that has the row of a sandbox or of a machine. */
export const vmTable = (vmId: string) => sql.table(kindOf(vmId) === "machine" ? "machines" : "sandboxes");

/** The same for what VM cleanup tries again: sandboxes, machines and snapshots. */
export const triedTable = (id: string) => (kindOf(id) === "snapshot" ? sql.table("snapshots") : vmTable(id));
