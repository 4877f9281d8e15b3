// The end of a machine's life that nobody asked for: what becomes of it, and whether it is started again, in one transaction.

import type { MachineStatus } from "@skerry/contract/machine-states";
import type { Queries } from "../store/database.ts";
import { atRest, moveMachine, type MachineRow } from "../store/machines.ts";
import { queueRestart } from "../store/restarts.ts";
import type { Context } from "./context.ts";
import type { Ending } from "./machine-endings.ts";
import { giveUpReason, nextStep, type EndedMachine } from "./restarts.ts";

export interface MachineToEnd extends EndedMachine {
  readonly id: string;
  readonly version: number;
  readonly status: MachineStatus;
}

/** False where another writer was first. `alsoWrite` is part of the transaction. */
export async function endMachine(
  context: Context,
  machine: MachineToEnd,
  ending: Ending,
  alsoWrite: (transaction: Queries, ended: MachineRow) => Promise<void> = async () => undefined,
): Promise<boolean> {
  const step = nextStep(machine, ending.succeeded, Math.random());
  const reason = step.kind === "give_up" ? `${ending.reason}; ${giveUpReason(step.retries)}` : ending.reason;
  const ended = await context.db.transaction().execute(async (transaction) => {
    const row = await moveMachine(transaction, machine, ending.succeeded ? "stopped" : "failed", {
      ...atRest,
      reason,
      host_lost: false,
      ...(ending.exitCode === null ? {} : { exit_code: ending.exitCode }),
      ...(step.kind === "rest" ? {} : { retries: step.retries }),
    });
    if (row === undefined) return false;
    if (step.kind === "restart") await queueRestart(transaction, machine.id, step.delayMs);
    await alsoWrite(transaction, row);
    return true;
  });
  if (!ended) return false;
  context.log.warn({ machine_id: machine.id, reason }, "a machine has ended");
  if (step.kind === "restart") context.ring("restart-manager");
  return true;
}

export function endedMachineOf(row: MachineRow): MachineToEnd {
  // Only the database's clock can say whether it ran well, and who comes here has never seen it run.
  return { ...row, ran_well: false, has_run: row.started_at !== null };
}
