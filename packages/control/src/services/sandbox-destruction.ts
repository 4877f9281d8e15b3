// The end of a sandbox. The wish is one compare-and-set; the host is told at once, and again by the reconciler until it agrees.

import { SkerryError } from "@skerry/contract/errors";
import { findSandbox, moveSandbox, type SandboxRow } from "../store/sandboxes.ts";
import type { Context } from "./context.ts";
import { destroyOnHost } from "./vms.ts";

/** A writer that loses this often against others meets a bug, not a race. */
const ATTEMPTS_MAX = 10;

/** Moves a sandbox to `destroying` whatever its status; undefined where there is no such sandbox, and as it is where it has ended. */
export async function markDestroying(
  context: Context,
  orgId: string,
  id: string,
): Promise<SandboxRow | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const row = await findSandbox(context.db, orgId, id);
    if (row === undefined || row.status === "destroying" || row.status === "destroyed") return row;
    const moved = await moveSandbox(context.db, row, "destroying", "destroyed by request");
    if (moved !== undefined) return moved;
  }
  throw new SkerryError("internal", "The sandbox changed too often to be destroyed.");
}

/** Has the host destroy the VM and says so in the row. Throws where the host does not confirm; the row stays `destroying`. */
export async function finishDestroying(
  context: Context,
  row: Pick<SandboxRow, "id" | "version" | "status" | "execution_id" | "host_id">,
  stop?: AbortSignal,
): Promise<void> {
  await destroyOnHost(context, row, stop);
  // Losing here means that another writer finished the same destruction.
  await moveSandbox(context.db, row, "destroyed");
}
