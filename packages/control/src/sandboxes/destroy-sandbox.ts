// The end of a sandbox, and of what its commands have printed.

import type { VmOwner } from "@skerry/contract/vms/owner";
import type { Tenant } from "../caller.ts";
import type { Context } from "../context.ts";
import { destroyByRequest } from "../vms/destroy-by-request.ts";
import { keepBeforeDestruction } from "../vms/executions/keep-output.ts";
import { unlessOwned } from "../vms/owned.ts";
import { destroyOnHost } from "../vms/vm-kind.ts";
import { transitionSandbox, type SandboxRow } from "./sandbox-store.ts";
import { sandboxVms } from "./sandbox-vms.ts";
import { getSandbox } from "./sandboxes.ts";

/** Throws `owned` where it belongs to a resource other than `by`, which makes the call. */
export function destroySandbox(
  context: Context,
  caller: Tenant,
  id: string,
  by?: Pick<VmOwner, "id">,
): Promise<void> {
  return destroyByRequest<SandboxRow>(context, {
    kind: sandboxVms,
    get: async () => unlessOwned(sandboxVms, await getSandbox(context, caller, id), by),
    mark: (row) => transitionSandbox(context.db, row, "destroying", { reason: "destroyed by request" }),
    finish: (row) => finishDestroying(context, row),
  });
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
