// What calls into a microVM need to know of whose microVM it is: a sandbox's or a machine's.

import type { Egress } from "@skerry/contract/egress";
import { SkerryError } from "@skerry/contract/errors";
import type { HostClient } from "../hosts/host-client.ts";
import { hostAddress } from "../store/hosts.ts";
import type { Caller, Context } from "./context.ts";

/** What the rows of both have. */
export interface VmRow {
  readonly id: string;
  readonly org_id: string;
  readonly status: string;
  readonly reason: string | null;
  readonly host_id: string;
  readonly execution_id: string;
  readonly egress: Egress;
  readonly egress_version: number;
}

export interface VmKind {
  readonly noun: "sandbox" | "machine";
  readonly table: "sandboxes" | "machines";
  /** Throws where there is none, or where it is another organization's. */
  get(context: Context, caller: Caller, id: string): Promise<VmRow>;
  notRunning(row: VmRow): SkerryError;
  /** Its microVM is not there although its row runs. */
  ended(cause: SkerryError): SkerryError;
  /** More is asked of it at once than it takes. */
  busy(cause: SkerryError): SkerryError;
}

export interface VmWish {
  readonly kind: VmKind;
  readonly id: string;
}

/** A running one and the host to ask, or why not. */
export async function runningVm(
  context: Context,
  caller: Caller,
  { kind, id }: VmWish,
): Promise<{ row: VmRow; client: HostClient }> {
  const row = await kind.get(context, caller, id);
  if (row.status !== "running") throw kind.notRunning(row);
  return { row, client: await clientOf(context, row) };
}

export async function clientOf(context: Context, row: Pick<VmRow, "id" | "host_id">): Promise<HostClient> {
  const address = await hostAddress(context.db, row.host_id);
  if (address === undefined) {
    throw new SkerryError("host_unavailable", "The host has been removed, and what was on it is lost.");
  }
  return context.hosts.client(address);
}

/** Has the host remove the VM. With a host that has been removed it is gone for us. */
export async function destroyOnHost(
  context: Context,
  row: Pick<VmRow, "id" | "host_id" | "execution_id">,
  stop?: AbortSignal,
): Promise<void> {
  const address = await hostAddress(context.db, row.host_id);
  if (address !== undefined) await context.hosts.client(address).destroyVm(row, stop);
}

/** What a host says of a VM, said of what the caller knows. A VM that is not there although its row runs is worth a look at once. */
export function vmError(context: Context, kind: VmKind, error: unknown): unknown {
  if (!(error instanceof SkerryError)) return error;
  if (error.code === "sandbox_busy") return kind.busy(error);
  if (!["vm_not_found", "vm_not_running", "stale_execution"].includes(error.code)) return error;
  context.ring("vm-cleanup");
  return kind.ended(error);
}
