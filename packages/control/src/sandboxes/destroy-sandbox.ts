// The end of a sandbox. The request is stored by one compare-and-set; the host is told at once, and again by the reconciler until it agrees.

import { SkerryError } from "@skerry/contract/errors";
import { transitionSandbox, type SandboxRow } from "./sandbox-store.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { retryOnConflict } from "../db/retry-on-conflict.ts";
import { getSandbox } from "./sandboxes.ts";
import { keepBeforeDestruction } from "../vms/executions/keep-output.ts";
import { leaveToCleanup } from "../vms/postpone.ts";
import { destroyOnHost } from "../vms/vm-kind.ts";

/** Destroys from every status; a second time, or after the end, it does nothing. */
export async function destroySandbox(context: Context, caller: Caller, id: string): Promise<void> {
  const row = await markDestroying(context, caller, id);
  if (row.status === "destroyed") return;
  const markedMs = performance.now();
  await finishDestroying(context, row).catch(async (error: unknown) => {
    await leaveToCleanup(context, row, error);
    // It may still run; but who hears that it is destroyed can rely on it that no replica leads a call into it.
    return context.vmLocations.allLapsed(markedMs);
  });
}

function markDestroying(context: Context, caller: Caller, id: string): Promise<SandboxRow> {
  return retryOnConflict(
    async () => {
      const row = await getSandbox(context, caller, id);
      if (row.status === "destroying" || row.status === "destroyed") return row;
      return transitionSandbox(context.db, row, "destroying", { reason: "destroyed by request" });
    },
    () => new SkerryError("internal", "The sandbox changed too often to be destroyed."),
  );
}

/** Has the host destroy the VM and says so in the row. Throws where the host does not confirm; the row stays `destroying`. */
export async function finishDestroying(
  context: Context,
  row: Pick<SandboxRow, "id" | "version" | "status" | "execution_id" | "host_id">,
  stop?: AbortSignal,
): Promise<void> {
  await keepBeforeDestruction(context, row);
  await destroyOnHost(context, row, stop);
  // Losing here means that another writer finished the same destruction.
  await transitionSandbox(context.db, row, "destroyed");
}
