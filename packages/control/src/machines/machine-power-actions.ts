// Start, stop and restart as their owner asks for them. The desired state is stored first and then carried out as far as it goes at once; what is
// left of it then, because another replica works on the machine or its host does not answer, is finished by VM cleanup.

import { SkerryError } from "@skerry/contract/errors";
import type { MachineStatus } from "@skerry/contract/machines/machine-status";
import {
  changeMachine,
  transitionMachine,
  renewed,
  toldAsRestart,
  type MachineChange,
  type MachineRow,
} from "./machine-store.ts";
import { cancelRestart } from "./restart-queue-store.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { startMachine } from "./start-machine.ts";
import { stopMachineOnHost } from "./stop-machine.ts";
import { unlessOwned } from "../vms/owned.ts";
import { leaveToCleanup } from "../vms/postpone.ts";
import { getMachine, machineVms } from "./machines.ts";
import { retryOnConflict } from "../db/retry-on-conflict.ts";

export const machinePowerActions = ["start", "stop", "restart"] as const;
export type MachinePowerAction = (typeof machinePowerActions)[number];

/** The machine as it is when what can be done at once is done. */
export function carryOutPowerAction(
  context: Context,
  caller: Caller,
  {
    id,
    act,
    newDisk = false,
  }: { readonly id: string; readonly act: MachinePowerAction; readonly newDisk?: boolean },
): Promise<MachineRow> {
  return retryOnConflict(async () => {
    const row = unlessOwned(machineVms, await getMachine(context, caller, id));
    if (row.status === "destroying" || row.status === "destroyed") throw destroyed(row.status);
    if (newDisk && !isAtRest(row)) throw notAtRest(row.status);
    return newDisk ? startByRequest(context, row, newDisk) : acts[act](context, row);
  }, busy);
}

/** Undefined where another writer was first, and everything is to be decided again. */
type Do = (context: Context, row: MachineRow) => Promise<MachineRow | undefined>;

const acts: Readonly<Record<MachinePowerAction, Do>> = {
  start: async (context, row) => {
    if (isAtRest(row)) return startByRequest(context, row);
    if (row.status === "running" && row.desired === "running") return row;
    const change = { desired: "running", restart_wished: row.status === "stopping" } as const;
    return changeMachine(context.db, row, change);
  },
  stop: async (context, row) => {
    if (row.status === "running") return stopNow(context, row, { desired: "stopped", restart_wished: false });
    if (isAtRest(row)) return stopAtRest(context, row);
    return changeMachine(context.db, row, stoppedForGood);
  },
  restart: async (context, row) => {
    if (isAtRest(row)) return startByRequest(context, row);
    if (row.status === "running") return stopNow(context, row, { desired: "running", restart_wished: true });
    const change = { desired: "running", restart_wished: row.status === "stopping" } as const;
    return changeMachine(context.db, row, change);
  },
};

/** No call starts it again. */
const stoppedForGood = { desired: "stopped", restart_wished: false, stopped_idle: false } as const;

export function isAtRest({ status }: MachineRow): boolean {
  return status === "stopped" || status === "failed";
}

/** Its automatic restarts do not count against a start by request. */
function startByRequest(context: Context, row: MachineRow, newDisk = false): Promise<MachineRow | undefined> {
  return startMachine(context, row, { newDisk, change: { desired: "running", retries: 0 } });
}

/** It does not run; from now on nothing starts it again. Where its host was lost with it, VM cleanup stops what comes back. */
function stopAtRest(context: Context, row: MachineRow): Promise<MachineRow | undefined> {
  const change = stoppedForGood;
  return context.db.transaction().execute(async (transaction) => {
    const stopped =
      row.status === "failed"
        ? await transitionMachine(transaction, row, "stopped", change)
        : // A replica that is about to start it from the queue has read another version.
          await changeMachine(transaction, row, { ...change, ...renewed });
    if (stopped === undefined) return undefined;
    await cancelRestart(transaction, row.id);
    return { ...stopped, restart_at: null, restart_waits: null };
  });
}

async function stopNow(
  context: Context,
  row: MachineRow,
  change: MachineChange,
): Promise<MachineRow | undefined> {
  const stopping = await transitionMachine(context.db, row, "stopping", change);
  if (stopping === undefined) return undefined;
  const stopped = await stopMachineOnHost(context, stopping).catch(async (error: unknown) => {
    await leaveToCleanup(context, stopping, error);
    return stopping;
  });
  // The desired state may have changed meanwhile: the row says what it is now.
  return stopped?.status === "stopped" && stopped.desired === "running"
    ? startMachine(context, stopped, { change: { retries: 0, ...toldAsRestart } })
    : stopped;
}

export function busy(): SkerryError {
  return new SkerryError("machine_busy", "The machine changes too often.", {
    remediation: "Read the machine, and try again.",
    retryAfterS: 1,
  });
}

function notAtRest(status: MachineStatus): SkerryError {
  return new SkerryError("machine_busy", `The machine is ${status}, so its disk is in use.`, {
    remediation: "Stop the machine first.",
    context: { status },
  });
}

export function destroyed(status: MachineStatus): SkerryError {
  return new SkerryError("machine_destroyed", `The machine is ${status}.`, {
    remediation: "Create another machine.",
    context: { status },
  });
}
