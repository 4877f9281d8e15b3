// Machines that the background service of another room makes for a resource. A machine is written with its
// owner, so a service that died in between finds it by `ownedVms` and makes no second one.

import { scopes } from "@skerry/contract/organizations/scopes";
import type { MachineCreateRequest } from "@skerry/contract/machines/machine";
import type { VmOwner } from "@skerry/contract/vms/owner";
import type { Apart } from "../capacity/reservation.ts";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { Attempt } from "../idempotency/create-once.ts";
import { createMachine } from "./machine-creation.ts";
import { unlessOwned } from "../vms/owned.ts";
import { changeMachine, type MachineRow } from "./machine-store.ts";
import { getMachine, machineVms } from "./machines.ts";

interface Owned {
  readonly orgId: string;
  readonly owner: VmOwner;
  readonly request: MachineCreateRequest;
  /** Others that do the same: it is placed apart from them. */
  readonly apart?: Apart;
  /** The background service that makes it, for the audit log. */
  readonly service: string;
}

/** Resolves when it runs. Throws what the request for a machine answers. */
export async function createOwnedMachine(
  context: Context,
  { orgId, owner, request, apart, service }: Owned,
): Promise<MachineRow> {
  const asked = { caller: resourceCaller(orgId), request, owner, ...(apart && { apart }), timing: untimed };
  const machine = await createMachine(context, asked, new Attempt(undefined, () => undefined));
  await recordOwnActs(context.db, { service, action: "machine.create", resource: "machine" }, [machine]);
  return machine;
}

/** Has VM cleanup tell its process to end, and wait for that. One that does not run stays as it is. */
export async function stopOwnedMachine(
  context: Context,
  {
    orgId,
    id,
    owner,
    service,
  }: Pick<Owned, "orgId" | "service"> & { readonly id: string; readonly owner: Pick<VmOwner, "id"> },
): Promise<void> {
  const row = unlessOwned(machineVms, await getMachine(context, { orgId }, id), owner);
  if (row.status !== "running") return;
  await context.db.transaction().execute(async (transaction) => {
    const change = { desired: "stopped", restart_wished: false } as const;
    const stopping = await changeMachine(transaction, row, change);
    if (stopping !== undefined)
      await recordOwnActs(transaction, { service, action: "machine.stop", resource: "machine" }, [stopping]);
  });
  context.wake("vm-cleanup");
}

/** A resource may begin with any snapshot of its organization. */
export function resourceCaller(orgId: string): Caller {
  return { orgId, userId: "", tokenId: "", role: "owner", scopes: new Set(scopes), auditDetails: false };
}

/** No client waits for it. */
const untimed = {
  measure: <Result>(_phase: string, work: () => Promise<Result>) => work(),
  measureStart: <Result>(work: (onTiming: () => void) => Promise<Result>) => work(() => undefined),
};
