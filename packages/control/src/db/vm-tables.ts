import { sql } from "kysely";

/** Where the row of a sandbox or of a machine is. */
export const tableOf = (vmId: string) => sql.table(vmId.startsWith("mch_") ? "machines" : "sandboxes");
