// A machine that ended without a request: its new status, and whether it is started again, in one transaction.

import type { MachineStatus } from "@skerry/contract/machines/machine-status";
import type { NextEvent } from "../db/tables/event-tables.ts";
import type { Queries } from "../db/database.ts";
import { atRest, changeMachine, transitionMachine, renewed, type MachineRow } from "./machine-store.ts";
import { queueRestart } from "./restart-queue-store.ts";
import { insertMachineEnd } from "./machine-end-store.ts";
import type { Context } from "../context.ts";
import type { ExitReason } from "./exit-reason.ts";
import { giveUpReason, applyRestartPolicy, type EndedMachine, type NextStep } from "./restart-policy.ts";

const toldAsOutOfMemory = {
  next_event: JSON.stringify({ kind: "out_of_memory" } satisfies NextEvent),
};

export interface MachineToEnd extends EndedMachine {
  readonly id: string;
  readonly version: number;
  readonly status: MachineStatus;
}

/** False where another writer was first. `alsoWrite` is part of the transaction. */
export async function endMachine(
  context: Context,
  machine: MachineToEnd,
  ending: ExitReason,
  alsoWrite: (transaction: Queries, ended: MachineRow) => Promise<void> = async () => undefined,
): Promise<boolean> {
  const step = stepAfter(machine, ending);
  const reason = reasonAfter(ending, step);
  const ended = await context.db.transaction().execute(async (transaction) => {
    const row = await transitionMachine(transaction, machine, ending.succeeded ? "stopped" : "failed", {
      ...atRest,
      reason,
      host_lost: ending.disk === "later",
      ...(ending.exitCode === null ? {} : { exit_code: ending.exitCode }),
      ...(step.kind === "rest" ? {} : { retries: step.retries }),
      ...(ending.outOfMemory === true ? toldAsOutOfMemory : {}),
    });
    if (row === undefined) return false;
    if (step.kind === "restart") await queueRestart(transaction, machine.id, step.delayMs);
    await noteEnd(transaction, machine, { ...ending, reason });
    await alsoWrite(transaction, row);
    return true;
  });
  if (!ended) return false;
  if (isUnasked(machine)) countEnd(context, ending);
  context.log.warn({ machine_id: machine.id, reason }, "a machine has ended");
  if (step.kind === "restart") context.wake("restart-manager");
  return true;
}

/**
 * The same of a machine that failed when its host was lost, where the host is back and it does not run there: it is started again by its
 * policy, on its disk. False where another writer was first.
 */
export async function endLostMachine(
  context: Context,
  machine: MachineToEnd,
  ending: ExitReason,
): Promise<boolean> {
  const step = stepAfter(machine, ending);
  const reason = reasonAfter(ending, step);
  const written = await context.db.transaction().execute(async (transaction) => {
    const row = await changeMachine(transaction, machine, {
      ...renewed,
      reason,
      host_lost: false,
      ...(step.kind === "rest" ? {} : { retries: step.retries }),
    });
    if (row === undefined) return false;
    if (step.kind === "restart") await queueRestart(transaction, machine.id, step.delayMs);
    await noteEnd(transaction, machine, { ...ending, reason });
    return true;
  });
  if (!written) return false;
  if (isUnasked(machine)) countEnd(context, ending);
  if (step.kind === "restart") context.wake("restart-manager");
  return true;
}

/** An end that was asked for is none of its history, and neither is that of one that never was usable. */
async function noteEnd(transaction: Queries, machine: MachineToEnd, ending: ExitReason): Promise<void> {
  if (isUnasked(machine)) await insertMachineEnd(transaction, machine.id, ending);
}

function isUnasked({ desired, has_run }: MachineToEnd): boolean {
  return desired === "running" && has_run;
}

function countEnd({ metrics }: Context, { cause, outOfMemory }: ExitReason): void {
  metrics.machineEnds.add(1, cause);
  if (outOfMemory === true) metrics.outOfMemory.add(1, "machine");
}

/** No start helps where there is no disk to start from. */
function stepAfter(machine: EndedMachine, { succeeded, disk }: ExitReason): NextStep {
  return disk === undefined ? applyRestartPolicy(machine, succeeded, Math.random()) : { kind: "rest" };
}

function reasonAfter({ reason }: ExitReason, step: NextStep): string {
  return step.kind === "give_up" ? `${reason}; ${giveUpReason(step.retries)}` : reason;
}

export function endedMachineOf(row: MachineRow): MachineToEnd {
  // Only the database's clock can say whether it ran well, and who comes here has never seen it run.
  return { ...row, ran_well: false, has_run: row.started_at !== null };
}
