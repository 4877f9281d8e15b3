// The first half of a pause by request: the row says that it is under way, and that the organization holds what the sandbox will take of a disk.

import { checkPausedQuota } from "../capacity/paused-quota.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { pausedDiskGib } from "./sandbox-quotas.ts";
import { transitionSandbox, type SandboxRow } from "./sandbox-store.ts";

/** A persistent sandbox holds it from its creation on. An ephemeral one, which E2B's clients may pause, begins to hold it here. Undefined where
 *  another writer was first. Throws `quota_exceeded`. */
export async function beginPausing(
  context: Context,
  row: SandboxRow,
  withoutMemory: boolean,
): Promise<SandboxRow | undefined> {
  const write = (db: Queries) =>
    transitionSandbox(db, row, "pausing", { next: { kind: "paused", reason: "by request" }, withoutMemory });
  if (row.mode === "persistent") return write(context.db);
  return context.db.transaction().execute(async (transaction) => {
    const diskGib = pausedDiskGib(row.disk_gib, row.memory_mib);
    await checkPausedQuota(context, transaction, { orgId: row.org_id, diskGib });
    return write(transaction);
  });
}
