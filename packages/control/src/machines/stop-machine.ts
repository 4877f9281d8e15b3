// The stop of a machine that was asked for: SIGTERM, the grace, SIGKILL, and its disk stays.

import { SkerryError } from "@skerry/contract/errors";
import { atRest, transitionMachine, type MachineRow } from "./machine-store.ts";
import { auditBeforeEnd } from "../vms/injection-audit.ts";
import { keepVmClaim } from "../vms/vm-claims.ts";
import type { Context } from "../context.ts";
import { clientOf } from "../vms/vm-kind.ts";

type Stopping = Pick<
  MachineRow,
  | "id"
  | "version"
  | "status"
  | "execution_id"
  | "host_id"
  | "stop_timeout_ms"
  | "restart_wished"
  | "stopped_idle"
>;

/**
 * Has the host stop the VM of a row that is `stopping` and says so in the row; the row as it is then, or undefined where another writer
 * was first. Throws where the host does not confirm; the row stays `stopping`.
 */
export async function stopMachineOnHost(
  context: Context,
  row: Stopping,
  { stop, unusedMs }: { readonly stop?: AbortSignal | undefined; readonly unusedMs?: number } = {},
): Promise<MachineRow | undefined> {
  using _claim = keepVmClaim(context, row);
  const client = await clientOf(context, row);
  await auditBeforeEnd(context, client, row);
  const vm = await client.stopVm(row, row.stop_timeout_ms, { stop, unusedMs }).catch(nothingThere);
  return transitionMachine(context.db, row, "stopped", {
    ...atRest,
    reason: reasonOf(row),
    exit_code: vm?.exit?.exit_code ?? null,
  });
}

function reasonOf({ restart_wished: isRestarted, stopped_idle: isIdle }: Stopping): string {
  if (isRestarted) return "stopped to be started again";
  return isIdle ? "stopped because nothing used it" : "stopped by request";
}

/** A VM that is not there, or that is another one by now, has stopped. */
export function nothingThere(error: unknown): undefined {
  if (error instanceof SkerryError && gone.has(error.code)) return undefined;
  throw error;
}

const gone: ReadonlySet<string> = new Set(["vm_not_found", "vm_not_running", "stale_execution"]);
