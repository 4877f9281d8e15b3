// A call into a machine that was stopped because nothing used it: it is started, and the call waits for it.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import { causedEvent } from "../audit/audit-log.ts";
import type { NewAuditEvent } from "../audit/insert-audit-events.ts";
import type { Tenant } from "../caller.ts";
import type { Context } from "../context.ts";
import type { VmAtHost } from "../vms/vm-kind.ts";
import { findMachine, hasBegunWithin, type MachineRow } from "./machine-store.ts";
import { startMachine } from "./start-machine.ts";

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
/** Longer than it takes to find out that the replica at work has died, and to finish its work. */
const WAIT_MAX_MS = 60_000;

/**
 * The machine when it runs. One replica starts it, because the change of the row is a compare-and-set, and
 * all others wait. Throws where no call starts it, and where its start fails.
 */
export async function wakeMachine(context: Context, caller: Tenant, id: string): Promise<MachineRow> {
  const deadline = performance.now() + WAIT_MAX_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const row = await findMachine(context.db, caller.orgId, id);
    if (row === undefined) throw new SkerryError("machine_destroyed", "The machine was destroyed.");
    if (row.status === "running") return row;
    if (!isWakened(row) || performance.now() > deadline) throw notRunningMachine(row);
    if (row.status === "stopped") {
      const change = { desired: "running", retries: 0 } as const;
      const started = await startMachine(context, row, { change, event: startOf(caller, id) });
      if (started !== undefined) return started;
    }
    await sleep(pauseMs);
  }
}

function startOf(caller: Tenant, id: string): NewAuditEvent {
  const act = {
    action: "machine.start",
    resource: "machine",
    resourceId: id,
    service: "port-visitor",
  } as const;
  return causedEvent(caller, act);
}

/** How long after its start the servers of a machine have to begin to listen. */
const BEGINNING_MS = 30_000;

/** It is one that calls start, and was started a moment ago. */
export function isBeginning({ db }: Context, { orgId }: Tenant, vm: VmAtHost): Promise<boolean> {
  return hasBegunWithin(db, { ...vm, orgId, ms: BEGINNING_MS });
}

/** One that its owner has stopped stays stopped. */
function isWakened({ autostart, stopped_idle: isIdle, status }: MachineRow): boolean {
  if (!autostart) return false;
  return status === "starting" || (isIdle && (status === "stopping" || status === "stopped"));
}

export function notRunningMachine({
  status,
  reason,
}: Pick<MachineRow, "reason"> & { status: string }): SkerryError {
  return new SkerryError(
    "machine_not_running",
    `The machine is ${status}${reason === null ? "" : ` (${reason})`}.`,
    { remediation: "Start it, or wait until it runs.", context: { status } },
  );
}
