// The health checks' part of VM cleanup, on one host: it is told of checks that it has not, and what it has
// found is written down.

import { sql } from "kysely";
import { SkerryError } from "@skerry/contract/errors";
import type { CheckState } from "@skerry/contract/host-api/checks";
import type { Context } from "../context.ts";
import type { Database } from "../db/database.ts";
import type { StoredHealth } from "../db/tables/machine-tables.ts";
import { orPostpone } from "../vms/postpone.ts";
import { endByItself, STOP_PATIENCE_MS, type Work } from "./clean-up-machine.ts";
import { exitReasonOfCheck } from "./exit-reason.ts";
import { tellHost } from "./machine-checks.ts";
import type { MachineFact } from "./machine-facts.ts";
import { checkAction, isKnownUnchecked, uncheckedHealth, type CheckAction } from "./machine-health.ts";
import { nothingThere } from "./stop-machine.ts";

type CheckWork = Omit<Work, "action"> & { readonly machines: readonly MachineFact[] };

export async function checkWork(context: Context, work: CheckWork): Promise<(() => Promise<void>)[]> {
  const rows = work.machines.filter(
    ({ status, desired, check_version }) =>
      status === "running" && desired === "running" && check_version > 0,
  );
  // A host that has none may be of a version that knows none.
  if (rows.length === 0) return [];
  const states = await statesOf(work);
  if (states === undefined) {
    const told = new Date();
    return rows
      .filter((row) => row.health_check !== null && !isKnownUnchecked(row))
      .map((row) => () => noteHealth(context.db, row, uncheckedHealth(row, told)));
  }
  return rows.flatMap((row) => {
    const action = checkAction(row, states);
    return action === undefined ? [] : [() => carryOut(context, work, { row, action })];
  });
}

/** Undefined: the host is of a version that knows no checks. */
async function statesOf({ client, stop }: CheckWork): Promise<ReadonlyMap<string, CheckState> | undefined> {
  try {
    return new Map((await client.checks.list(stop)).map((state) => [state.id, state]));
  } catch (error) {
    if (error instanceof SkerryError && error.code === "not_found") return undefined;
    throw error;
  }
}

async function carryOut(
  context: Context,
  work: CheckWork,
  { row, action }: { readonly row: MachineFact; readonly action: CheckAction },
): Promise<void> {
  if (action.kind === "bring") return tellHost(work.client, row, work.stop).catch(nothingThere);
  await noteHealth(context.db, row, action.health);
  if (action.kind === "restart" && !row.waiting)
    await orPostpone(context, row, () => restart(context, work, { row, reason: action.health.reason }));
}

/**
 * A replica that dies in between leaves a machine that its host has stopped, which its policy starts again as
 * well.
 */
async function restart(
  context: Context,
  work: CheckWork,
  { row, reason }: { readonly row: MachineFact; readonly reason: string | null },
): Promise<void> {
  const patience = AbortSignal.any([work.stop, AbortSignal.timeout(STOP_PATIENCE_MS)]);
  await work.client.stopVm(row, row.stop_timeout_ms, { stop: patience }).catch(nothingThere);
  await endByItself(context, work, { row, ending: exitReasonOfCheck(reason) });
}

/** Nothing where the check, or the incarnation, is another one by now. */
async function noteHealth(db: Database, row: MachineFact, health: StoredHealth): Promise<void> {
  await sql`
    update machines set health = ${JSON.stringify(health)}::jsonb
    where id = ${row.id} and execution_id = ${row.execution_id} and check_version = ${row.check_version}
      and status = 'running'`.execute(db);
}
