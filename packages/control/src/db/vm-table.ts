import { kindOf } from "@skerry/contract/ids";
import { sql } from "kysely";

/** Where the row of a sandbox or of a machine is. */
export const vmTable = (vmId: string) => sql.table(kindOf(vmId) === "machine" ? "machines" : "sandboxes");
