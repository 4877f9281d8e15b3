// PATCH of a machine. Its name, its labels, its restart policy and its stop timeout are changed at once. What
// a microVM is started with (size, command, environment) waits in the row, as `pending`, until the machine is
// started next, whatever starts it.

import { SkerryError } from "@skerry/contract/errors";
import type { MachineUpdateRequest } from "@skerry/contract/machines/machine";
import type { MachineStatus } from "@skerry/contract/machines/machine-status";
import { machineStatusesOnHost } from "@skerry/contract/machines/machine-status";
import type { Size } from "@skerry/contract/sizes";
import { refuseTooLarge, reserveOn } from "../capacity/host-reservation.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { retryOnConflict } from "../db/retry-on-conflict.ts";
import { requireReading } from "../snapshots/snapshots.ts";
import { readSize } from "../values/sizes.ts";
import { unlessOwned } from "../vms/owned.ts";
import { tellUpdated } from "../vms/events/tell-updated.ts";
import { changedMachine, changeText } from "./machine-changes.ts";
import { busy, carryOutPowerAction, destroyed, isAtRest } from "./machine-power-actions.ts";
import { bringCheck } from "./machine-checks.ts";
import type { MachineRow } from "./machine-store.ts";
import { updateMachineRow, type MachineUpdate } from "./machine-update-store.ts";
import { getMachine, machineVms } from "./machines.ts";

export async function updateMachine(
  context: Context,
  caller: Caller,
  { id, request }: { readonly id: string; readonly request: MachineUpdateRequest },
): Promise<MachineRow> {
  unlessOwned(machineVms, await getMachine(context, caller, id));
  // The main process of a machine can read all that is on its disk.
  const runs = request.command ?? request.env ?? request.check?.command;
  if (runs !== undefined || request.command === null) requireReading(caller, "machine");
  const restarts = request.restart_now === true;
  const row = await retryOnConflict(async () => {
    const seen = await getMachine(context, caller, id);
    if (seen.status === "destroying" || seen.status === "destroyed") throw destroyed(seen.status);
    if (restarts && beingStarted.has(seen.status)) throw startingNow(seen.status);
    const update = changedMachine(seen, request);
    return changeText(seen, update) === "" ? seen : write(context, seen, update);
  }, busy);
  if (request.check !== undefined) await bringCheck(context, row);
  return restarts && row.pending !== null && row.desired === "running" ? restart(context, caller, row) : row;
}

const beingStarted: ReadonlySet<MachineStatus> = new Set(["creating", "starting"]);

/** Undefined where another writer was first. */
async function write(
  context: Context,
  seen: MachineRow,
  update: MachineUpdate,
): Promise<MachineRow | undefined> {
  const save = async (transaction: Queries) => {
    const row = await updateMachineRow(transaction, seen, update);
    if (row !== undefined) await tellUpdated(transaction, row, changeText(seen, update));
    return row;
  };
  const size = update.pending?.size;
  const growth =
    size === undefined || size === seen.pending?.size ? undefined : growthOf(seen, readSize(size));
  return growth === undefined
    ? context.db.transaction().execute(save)
    : saveWithRoom(context, { seen, growth }, save);
}

/**
 * CPUs and memory that the size takes and the machine does not hold now. Undefined where it takes no more,
 * and where the machine has no place yet.
 */
function growthOf(seen: MachineRow, next: Size): Size | undefined {
  if (seen.started_at === null) return undefined;
  const now = readSize(seen.size);
  if (next.vcpus <= now.vcpus && next.memory_mib <= now.memory_mib) return undefined;
  if (!holdsRoom.has(seen.status)) return next;
  return {
    ...next,
    vcpus: Math.max(0, next.vcpus - now.vcpus),
    memory_mib: Math.max(0, next.memory_mib - now.memory_mib),
  };
}

const holdsRoom: ReadonlySet<MachineStatus> = new Set(machineStatusesOnHost);

interface Growing {
  readonly seen: MachineRow;
  readonly growth: Size;
}

/**
 * Where its host and its organization have room for the growth at this moment. Nothing holds that room until
 * the machine is started.
 */
async function saveWithRoom(
  context: Context,
  { seen, growth }: Growing,
  save: (transaction: Queries) => Promise<MachineRow | undefined>,
): Promise<MachineRow | undefined> {
  const { org_id: orgId, host_id: hostId } = seen;
  await refuseTooLarge(context, hostId, readSize(growth.name));
  return (await reserveOn(context, { orgId, hostId, size: growth }, save)).row;
}

/** One that stops is started again anyway. */
async function restart(context: Context, caller: Caller, row: MachineRow): Promise<MachineRow> {
  const { id, status } = row;
  if (status === "running") return carryOutPowerAction(context, caller, { id, act: "restart" });
  return isAtRest(row) ? carryOutPowerAction(context, caller, { id, act: "start" }) : row;
}

function startingNow(status: MachineStatus): SkerryError {
  return new SkerryError("machine_busy", `The machine is ${status}, so it cannot be restarted now.`, {
    remediation: 'Wait until it runs, or leave out "restart_now": its next start takes the change over.',
    retryAfterS: 1,
    context: { status },
  });
}
