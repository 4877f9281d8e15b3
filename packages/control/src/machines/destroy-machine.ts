// The end of a machine and of its disk.

import type { VmOwner } from "@skerry/contract/vms/owner";
import type { Tenant } from "../caller.ts";
import type { Context } from "../context.ts";
import { destroyByRequest } from "../vms/destroy-by-request.ts";
import { unlessOwned } from "../vms/owned.ts";
import { destroyOnHost } from "../vms/vm-kind.ts";
import { transitionMachine, type MachineRow } from "./machine-store.ts";
import { getMachine, machineVms } from "./machines.ts";
import { cancelRestart } from "./restart-queue-store.ts";

/** Throws `owned` where it belongs to a resource other than `by`, which makes the call. */
export function destroyMachine(
  context: Context,
  caller: Tenant,
  id: string,
  by?: Pick<VmOwner, "id">,
): Promise<void> {
  return destroyByRequest(context, {
    kind: machineVms,
    get: async () => unlessOwned(machineVms, await getMachine(context, caller, id), by),
    mark: (row) => markDestroying(context, row),
    finish: (row) => finishDestroyingMachine(context, row),
  });
}

function markDestroying(context: Context, row: MachineRow): Promise<MachineRow | undefined> {
  // Why it failed says more than that it was cleaned up afterwards.
  const reason = (row.status === "failed" ? row.reason : null) ?? "destroyed by request";
  return context.db.transaction().execute(async (transaction) => {
    const change = { reason, restart_wished: false };
    const destroying = await transitionMachine(transaction, row, "destroying", change);
    if (destroying !== undefined) await cancelRestart(transaction, row.id);
    return destroying;
  });
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
