// The end of a machine and of its disk. The request is stored by one compare-and-set; the host is told at once, and again by VM cleanup until it agrees.

import { SkerryError } from "@skerry/contract/errors";
import { transitionMachine, type MachineRow } from "./machine-store.ts";
import { cancelRestart } from "./restart-queue-store.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { getMachine } from "./machines.ts";
import { retryOnConflict } from "../db/retry-on-conflict.ts";
import { leaveToCleanup } from "../vms/postpone.ts";
import { destroyOnHost } from "../vms/vm-kind.ts";

/** Destroys from every status; a second time, or after the end, it does nothing. */
export async function destroyMachine(context: Context, caller: Caller, id: string): Promise<void> {
  const row = await markDestroying(context, caller, id);
  if (row.status === "destroyed") return;
  const markedMs = performance.now();
  await finishDestroyingMachine(context, row).catch(async (error: unknown) => {
    await leaveToCleanup(context, row, error);
    // It may still run; but who hears that it is destroyed can rely on it that no replica leads a call into it.
    return context.vmLocations.allLapsed(markedMs);
  });
}

function markDestroying(context: Context, caller: Caller, id: string): Promise<MachineRow> {
  return retryOnConflict(
    async () => {
      const row = await getMachine(context, caller, id);
      if (row.status === "destroying" || row.status === "destroyed") return row;
      return context.db.transaction().execute(async (transaction) => {
        // Why it failed says more than that it was cleaned up afterwards.
        const reason = (row.status === "failed" ? row.reason : null) ?? "destroyed by request";
        const destroying = await transitionMachine(transaction, row, "destroying", {
          reason,
          restart_wished: false,
        });
        if (destroying !== undefined) await cancelRestart(transaction, row.id);
        return destroying;
      });
    },
    () => new SkerryError("internal", "The machine changed too often to be destroyed."),
  );
}

/** Has the host remove the VM and its disk and says so in the row. Throws where the host does not confirm; the row stays `destroying`. */
export async function finishDestroyingMachine(
  context: Context,
  row: Pick<MachineRow, "id" | "version" | "status" | "execution_id" | "host_id">,
  stop?: AbortSignal,
): Promise<void> {
  await destroyOnHost(context, row, stop);
  // Losing here means that another writer finished the same destruction.
  await transitionMachine(context.db, row, "destroyed");
}

/** Its host does not carry out the destruction; the reason goes on to say so. */
export async function giveUpDestroying(
  context: Context,
  row: Pick<MachineRow, "id" | "version" | "status" | "reason">,
): Promise<void> {
  await transitionMachine(context.db, row, "destroyed", { reason: row.reason });
}
