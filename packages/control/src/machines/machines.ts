import { formatDuration } from "@skerry/contract/durations";
import { SkerryError } from "@skerry/contract/errors";
import { isId } from "@skerry/contract/ids";
import {
  machineStatuses,
  machineStatusesAlive,
  type MachineStatus,
} from "@skerry/contract/machines/machine-status";
import type { Machine } from "@skerry/contract/machines/machine";
import type { WaitsFor } from "@skerry/contract/waits-for";
import { checkShownOf } from "../values/health-checks.ts";
import { waitsForOf } from "../waits/stored-wait.ts";
import { healthOf } from "./machine-health.ts";
import { isBeginning, notRunningMachine, wakeMachine } from "./wake-machine.ts";
import { findMachine, listMachines, type MachineRow } from "./machine-store.ts";
import type { Versioned } from "../api/versioned.ts";
import type { Caller, Tenant } from "../caller.ts";
import type { Context } from "../context.ts";
import type { VmFilter } from "../vms/vm-filter.ts";
import { readVmPage, type CountedPage, type VmListParams } from "../vms/vm-lists.ts";
import { mayReadEnv, withoutValues } from "../vms/env.ts";
import { takesWork, type VmKind } from "../vms/vm-kind.ts";
import { ownerOf } from "../vms/owned.ts";
import { vmNotFound } from "../vms/vm-names.ts";

export async function listMachinesOf(
  context: Context,
  caller: Caller,
  params: VmListParams<MachineStatus>,
): Promise<CountedPage<Machine, MachineStatus>> {
  const kind = {
    noun: "machine",
    table: "machines",
    statuses: machineStatuses,
    statusesAlive: machineStatusesAlive,
    list: (filter: VmFilter<MachineStatus>) => listMachines(context.db, filter),
  } as const;
  const page = await readVmPage(context, kind, caller, params);
  return { ...page, items: page.items.map((row) => machineFor(caller, row)) };
}

export async function getMachine(context: Context, caller: Tenant, id: string): Promise<MachineRow> {
  // No resource has an id of another shape; looking for it would only carry odd bytes into SQL.
  const row = isId("machine", id) ? await findMachine(context.db, caller.orgId, id) : undefined;
  if (row === undefined) throw vmNotFound(machineVms, id);
  return row;
}

/** One that runs. Throws `machine_not_running`. */
export async function getRunningMachine(context: Context, caller: Tenant, id: string): Promise<MachineRow> {
  const row = await getMachine(context, caller, id);
  if (!takesWork(row)) throw machineVms.notRunning(row);
  return row;
}

/** Those of these that there are. */
export async function findMachines(
  context: Context,
  orgId: string,
  ids: readonly string[],
): Promise<Versioned<Machine>[]> {
  const rows = await Promise.all(ids.map((id) => findMachine(context.db, orgId, id)));
  return rows.flatMap((row) =>
    row === undefined
      ? []
      : { id: row.id, version: row.version, shownTo: (caller: Caller) => machineFor(caller, row) },
  );
}

export const machineVms: VmKind = {
  noun: "machine",
  table: "machines",
  isId: (id) => isId("machine", id),
  get: getMachine,
  settled: getMachine,
  wake: (context, caller, row) => wakeMachine(context, caller, row.id),
  notRunning: notRunningMachine,
  isBeginning,
  ended: (cause) =>
    new SkerryError("machine_not_running", "The microVM of the machine has ended.", {
      remediation: "Read the machine for the reason and for when it is started again.",
      cause,
    }),
  busy: (cause) =>
    new SkerryError("machine_busy", "Too much is asked of the machine at once.", {
      remediation: "Wait until some of it has ended.",
      retryAfterS: BUSY_RETRY_S,
      cause,
    }),
};

const BUSY_RETRY_S = 1;

/** With the values of its environment where the caller may see them. */
export function machineFor(caller: Caller, row: MachineRow): Machine {
  const machine = machineOf(row);
  return mayReadEnv(caller, "machines") ? { ...machine, env: row.env, pending: row.pending } : machine;
}

/** How it is started again, stopped and checked. */
function policiesOf(row: MachineRow) {
  return {
    restart: {
      policy: row.restart_policy,
      max_retries: row.restart_max_retries,
      disk: row.restart_disk,
    },
    stop_timeout: formatDuration(row.stop_timeout_ms),
    check: row.health_check && checkShownOf(row.health_check),
    health: healthOf(row),
    autostop: row.stop_after_idle_ms === null ? null : { idle: formatDuration(row.stop_after_idle_ms) },
    autostart: row.autostart,
  };
}

/** As every reader of the machine sees it. */
export function machineOf(row: MachineRow): Machine {
  return {
    id: row.id,
    name: row.name,
    owner: ownerOf(row),
    template: row.template,
    size: row.size,
    status: row.status,
    desired: row.desired,
    env: withoutValues(row.env),
    secrets: row.secrets ?? [],
    metadata: row.metadata,
    egress: row.egress,
    command: row.command,
    pending: pendingWithoutValues(row.pending),
    ...policiesOf(row),
    host_id: row.host_id,
    snapshot_id: row.snapshot_id,
    restarts: row.restarts,
    // Of the run before nothing is told while it runs again.
    exit_code: runs(row) ? null : row.exit_code,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    stopped_at: runs(row) ? null : (row.stopped_at?.toISOString() ?? null),
    destroyed_at: row.destroyed_at?.toISOString() ?? null,
    reason: row.reason,
    waits_for: waitsForOfMachine(row),
    restart_at: row.restart_at?.toISOString() ?? null,
  };
}

/** Its next start by its policy, or what its host is at. */
function waitsForOfMachine(row: MachineRow): WaitsFor | null {
  const { status, restart_at: due, restart_waits: refused, host_id } = row;
  const since = row.status_since.toISOString();
  if (due !== null && (status === "failed" || status === "stopped")) {
    if (refused !== null) return waitsForOf(refused);
    const text = `at ${due.toISOString().slice(11, 19)} UTC, because it ended: ${row.reason ?? "by itself"}`;
    return { kind: "attempt", id: null, name: null, reason: `waits for its next start ${text}`, since };
  }
  const text = hostWaits[status];
  if (text !== undefined) return waitsForOf({ kind: "host", id: host_id, name: null, text, since });
  const isAway = status === "failed" && (row.reason ?? "").startsWith("host_offline: ");
  const away = "which has its disk and does not answer";
  return isAway ? waitsForOf({ kind: "host", id: host_id, name: null, text: away, since }) : null;
}

const hostWaits: Readonly<Partial<Record<MachineStatus, string>>> = {
  creating: "which makes its microVM",
  starting: "which starts its microVM",
  stopping: "which stops its microVM",
  destroying: "which removes its microVM",
};

function pendingWithoutValues(pending: MachineRow["pending"]): Machine["pending"] {
  const { env, ...others } = pending ?? {};
  return pending && { ...others, ...(env === undefined ? {} : { env: withoutValues(env) }) };
}

function runs({ status }: MachineRow): boolean {
  return status === "running" || status === "stopping";
}
