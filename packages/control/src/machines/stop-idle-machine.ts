// A machine that nothing has used for as long as it says is stopped. The host looks once more in the moment
// of the stop: a call that has come meanwhile is carried out, and the machine runs on; one that comes later
// finds it stopped.

import { SkerryError } from "@skerry/contract/errors";
import { sql } from "kysely";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Context } from "../context.ts";
import type { Database } from "../db/database.ts";
import type { EndsIdle, Idler } from "../vms/idler.ts";
import { isPostponed, leaveToCleanup } from "../vms/postpone.ts";
import { transitionMachine, type MachineRow } from "./machine-store.ts";
import { startMachine } from "./start-machine.ts";
import { stopMachineOnHost } from "./stop-machine.ts";

/** A machine that runs and is stopped when nothing uses it, and where to ask for that. */
interface StoppedWhenIdle extends Pick<MachineRow, "id" | "org_id" | "version" | "status" | "execution_id"> {
  readonly address: string;
  readonly stop_after_idle_ms: number;
}

/** Bound of one look. */
const IDLERS_MAX = 20_000;

async function stoppedWhenIdle(db: Database): Promise<StoppedWhenIdle[]> {
  const { rows } = await sql<StoppedWhenIdle>`
    select machines.id, org_id, machines.version, machines.status, execution_id, stop_after_idle_ms, hosts.address
    from machines join hosts on hosts.id = machines.host_id
    where machines.status = 'running' and machines.desired = 'running' and stop_after_idle_ms is not null
      and not ${isPostponed} and hosts.status <> 'offline' and hosts.removed_at is null
    limit ${IDLERS_MAX}`.execute(db);
  return rows;
}

/** Those that run and are stopped when nothing uses them. */
export async function idleMachines(context: Context, how: EndsIdle): Promise<Idler[]> {
  const rows = await stoppedWhenIdle(context.db);
  return rows.map((row) => ({
    ...row,
    idleMs: row.stop_after_idle_ms,
    end: () => stopIdleMachine(context, row, how),
  }));
}

async function stopIdleMachine(
  context: Context,
  row: StoppedWhenIdle,
  { service, stop }: EndsIdle,
): Promise<void> {
  const stopping = await context.db.transaction().execute(async (transaction) => {
    const change = { desired: "stopped", restart_wished: false, stopped_idle: true } as const;
    const marked = await transitionMachine(transaction, row, "stopping", change);
    if (marked !== undefined)
      await recordOwnActs(transaction, { service, action: "machine.stop", resource: "machine" }, [marked]);
    return marked;
  });
  if (stopping === undefined) return;
  try {
    const stopped = await stopMachineOnHost(context, stopping, { stop, unusedMs: row.stop_after_idle_ms });
    // Its start was asked for meanwhile.
    if (stopped?.desired === "running") await startMachine(context, stopped, { stop });
  } catch (error) {
    if (error instanceof SkerryError && error.code === "vm_in_use")
      await transitionMachine(context.db, stopping, "running", { desired: "running", restart_wished: false });
    else await leaveToCleanup(context, stopping, error);
  }
}
