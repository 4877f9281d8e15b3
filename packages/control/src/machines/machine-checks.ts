// Health checks of machines between rows and hosts. The host runs the check and says only when its state has
// changed, by `ended` in what the heartbeat reads; VM cleanup then reads the states of that host's checks.

import { sql } from "kysely";
import { SkerryError } from "@skerry/contract/errors";
import type { CheckState } from "@skerry/contract/host-api/checks";
import type { Context } from "../context.ts";
import type { Database } from "../db/database.ts";
import type { StoredHealth } from "../db/tables/machine-tables.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { hostCheckOf } from "../values/health-checks.ts";
import { orPostpone } from "../vms/postpone.ts";
import { clientOf } from "../vms/vm-kind.ts";
import { endByItself, STOP_PATIENCE_MS, type Work } from "./clean-up-machine.ts";
import { exitReasonOfCheck } from "./exit-reason.ts";
import type { MachineFact } from "./machine-facts.ts";
import { checkAction, isKnownUnchecked, uncheckedHealth, type CheckAction } from "./machine-health.ts";
import type { MachineRow } from "./machine-store.ts";
import { nothingThere } from "./stop-machine.ts";

type Checked = Pick<
  MachineRow,
  "id" | "status" | "execution_id" | "host_id" | "check_version" | "health_check"
>;

/** Tells the host at once of the check of a machine that runs. Where that fails, VM cleanup does so. */
export async function bringCheck(context: Context, row: Checked): Promise<void> {
  if (row.status !== "running" || row.check_version === 0) return;
  try {
    await tellHost(await clientOf(context, row), row);
  } catch (error) {
    context.log.debug({ err: error, machine_id: row.id }, "a health check has not reached its host");
    context.wake("vm-cleanup");
  }
}

function tellHost(client: HostClient, row: Omit<Checked, "status">, stop?: AbortSignal): Promise<void> {
  const { id, execution_id, check_version: version, health_check: check } = row;
  const change = { execution_id, version, ...(check === null ? {} : { check: hostCheckOf(check) }) };
  return client.checks.set(id, change, stop);
}

type CheckWork = Omit<Work, "action"> & { readonly machines: readonly MachineFact[] };

/** The checks' part of VM cleanup, on one host. */
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
  await work.client.stopVm(row, row.stop_timeout_ms, patience).catch(nothingThere);
  await endByItself(context, work, { row, ending: exitReasonOfCheck(reason) });
}

/** Nothing where the check, or the incarnation, is another one by now. */
async function noteHealth(db: Database, row: MachineFact, health: StoredHealth): Promise<void> {
  await sql`
    update machines set health = ${JSON.stringify(health)}::jsonb
    where id = ${row.id} and execution_id = ${row.execution_id} and check_version = ${row.check_version}
      and status = 'running'`.execute(db);
}
