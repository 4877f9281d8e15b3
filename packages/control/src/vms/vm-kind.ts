// What calls into a microVM need to know of whose microVM it is: a sandbox's or a machine's.

import type { Egress } from "@skerry/contract/vms/egress";
import { SkerryError } from "@skerry/contract/errors";
import type { HostClient } from "../host-client/host-client.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import type { Tenant } from "../caller.ts";
import type { Context } from "../context.ts";
import { auditBeforeEnd } from "./injection-audit.ts";
import type { OwnerColumns } from "./owned.ts";

/** What the rows of both have. */
export interface VmRow extends OwnerColumns {
  readonly id: string;
  readonly org_id: string;
  readonly status: string;
  readonly reason: string | null;
  readonly host_id: string;
  readonly execution_id: string;
  readonly egress: Egress;
  readonly egress_version: number;
  /** Until its time is over, in milliseconds by the database's clock when it was read; not there where it has no end. */
  readonly left_ms?: number;
}

/** Whether anything may be asked of its microVM. One whose time is over is not destroyed at that moment, and takes no more work all the same. */
export function takesWork({ status, left_ms = Infinity }: Pick<VmRow, "status" | "left_ms">): boolean {
  return status === "running" && left_ms > 0;
}

export interface VmKind {
  readonly noun: "sandbox" | "machine";
  /** Paths, tags and scopes of the API have the same word. */
  readonly table: "sandboxes" | "machines";
  /** Whether an id is of this kind; no resource has one of another shape. */
  isId(id: string): boolean;
  /** Throws where there is none, or where it is another organization's. */
  get(context: Context, caller: Tenant, id: string): Promise<VmRow>;
  /** Its row when no other request is about to change whether it runs. */
  settled(context: Context, caller: Tenant, id: string): Promise<VmRow>;
  /** Of one that takes no work: resumes it where it is paused, or waits for who does. Throws where it takes none in the end. */
  wake(context: Context, caller: Tenant, row: VmRow): Promise<VmRow>;
  notRunning(row: VmRow): SkerryError;
  /** It was started a moment ago, perhaps by a call, which then waits until a server listens. */
  isBeginning(context: Context, caller: Tenant, vm: VmAtHost): Promise<boolean>;
  /** Its microVM is not there although its row runs. */
  ended(cause: SkerryError): SkerryError;
  /** More is asked of it at once than it takes. */
  busy(cause: SkerryError): SkerryError;
}

export interface VmRef {
  readonly kind: VmKind;
  readonly id: string;
}

/** A running one and the host to ask, or why not. One that is paused is resumed first. */
export async function runningVm(
  context: Context,
  caller: Tenant,
  { kind, id }: VmRef,
): Promise<{ row: VmRow; client: HostClient }> {
  let askedMs = performance.now();
  let row = await kind.get(context, caller, id);
  if (!takesWork(row)) {
    row = await kind.wake(context, caller, row);
    askedMs = performance.now();
  }
  const address = await addressOf(context, row);
  context.vmLocations.keep({ ...row, address }, askedMs);
  return { row, client: context.hosts.client(address) };
}

/** Calls a running one where it is. Where it is not there any more, and nothing of the call has begun, it is called where it is now. */
export async function callVm<T>(
  context: Context,
  caller: Tenant,
  ref: VmRef,
  call: (vm: VmAtHost, client: HostClient) => Promise<T>,
): Promise<T> {
  const { row, client } = knownVm(context, caller, ref) ?? (await runningVm(context, caller, ref));
  return call(row, client).catch(async (error: unknown) => {
    context.vmLocations.forget(row.id);
    // `vm_moving`: the call has waited at the source of a move, which may have ended since.
    if (!isNotThere(error) && !(error instanceof SkerryError && error.code === "vm_moving")) throw error;
    const now = await runningVm(context, caller, ref);
    if (now.row.execution_id === row.execution_id) throw error;
    return call(now.row, now.client);
  });
}

/** An incarnation, as hosts know it. */
export type VmAtHost = Pick<VmRow, "id" | "execution_id">;

function knownVm(
  context: Context,
  { orgId }: Tenant,
  { kind, id }: VmRef,
): { row: VmAtHost; client: HostClient } | undefined {
  const route = kind.isId(id) ? context.vmLocations.find(orgId, id) : undefined;
  return route === undefined ? undefined : { row: route, client: context.hosts.client(route.address) };
}

/** For a call that cannot be made twice: where it has moved away meanwhile, the caller may make it again. */
export async function unlessMoved(
  context: Context,
  caller: Tenant,
  { row, ref, error }: { readonly row: VmRow; readonly ref: VmRef; readonly error: unknown },
): Promise<unknown> {
  if (!isNotThere(error)) return error;
  const now = await ref.kind.get(context, caller, ref.id);
  if (now.status !== "running" || now.execution_id === row.execution_id) return error;
  return new SkerryError("vm_moving", "The microVM has just moved to another host.", {
    remediation: "Try again.",
    retryAfterS: 1,
    cause: error,
  });
}

function isNotThere(error: unknown): boolean {
  return (
    error instanceof SkerryError && ["vm_not_found", "vm_not_running", "stale_execution"].includes(error.code)
  );
}

export async function clientOf(context: Context, row: Pick<VmRow, "id" | "host_id">): Promise<HostClient> {
  return context.hosts.client(await addressOf(context, row));
}

async function addressOf(context: Context, row: Pick<VmRow, "host_id">): Promise<string> {
  const address = await hostAddress(context.db, row.host_id);
  if (address !== undefined) return address;
  throw new SkerryError("host_unavailable", "The host has been removed, and what was on it is lost.");
}

/** Has the host remove the VM. With a host that has been removed it is gone for us. */
export async function destroyOnHost(
  context: Context,
  row: Pick<VmRow, "id" | "host_id" | "execution_id">,
  stop?: AbortSignal,
): Promise<void> {
  // Also where the host does not confirm, no request is led into it any more.
  context.vmLocations.forget(row.id);
  const address = await hostAddress(context.db, row.host_id);
  if (address === undefined) return;
  const client = context.hosts.client(address);
  await auditBeforeEnd(context, client, row);
  await client.destroyVm(row, stop);
}

/**
 * What a host says of a VM, said of what the caller knows. Where the VM has gone, before the call or in the middle of it, its row tells
 * why. A VM that is not there although its row runs is worth a look at once.
 */
export async function vmError(
  context: Context,
  caller: Tenant,
  { kind, id }: VmRef,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof SkerryError)) return error;
  if (error.code === "sandbox_busy") return kind.busy(error);
  if (!isNotThere(error) && error.code !== "guest_failed") return error;
  // Where it cannot be read, what the host has said is still true.
  const row = await kind.get(context, caller, id).catch(() => undefined);
  if (row !== undefined && !takesWork(row)) return kind.notRunning(row);
  if (!isNotThere(error)) return error;
  context.wake("vm-cleanup");
  return kind.ended(error);
}
