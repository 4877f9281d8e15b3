// A machine on its way to running: its first start, those that are asked for, and those by its policy. The row is written first,
// with a new execution id and a claim, so another replica finishes it when this one dies.

import { SkerryError } from "@skerry/contract/errors";
import { insertAuditEvents, type NewAuditEvent } from "../audit/insert-audit-events.ts";
import type { VmSpec } from "@skerry/contract/host-api/vm";
import type { VmStartOptions } from "../host-client/host-client.ts";
import type { RequestTiming } from "../http/request-timing.ts";
import { newId } from "@skerry/contract/ids";
import { timed } from "../metrics/timed.ts";
import { drainedText, hostDraining } from "../hosts/draining-hosts.ts";
import { findHost, type HostRow } from "../hosts/host-rows.ts";
import {
  begun,
  changeMachine,
  machineById,
  renewed,
  takenOver,
  toldAsRollback,
  transitionMachine,
  type MachineChange,
  type MachineRow,
} from "./machine-store.ts";
import { bringCheck } from "./machine-checks.ts";
import { cancelRestart } from "./restart-queue-store.ts";
import { keepVmClaim } from "../vms/vm-claims.ts";
import type { Context } from "../context.ts";
import { endedMachineOf, endMachine } from "./end-machine.ts";
import { exitReasonOfStart } from "./exit-reason.ts";
import { reserve, type PlacementRequest } from "../capacity/reservation.ts";
import { unlessOvertaken } from "../capacity/unless-overtaken.ts";
import { readSize } from "../values/sizes.ts";
import { vmSpecOf } from "../vms/creation/vm-specs.ts";

export interface StartOptions {
  /** What is on the machine's own disk is given up. */
  readonly newDisk?: boolean;
  /** What the start changes beside the status. */
  readonly change?: MachineChange;
  /** Leaves the start to the replica that finds its claim lapsed. */
  readonly stop?: AbortSignal;
  /** Is recorded with the start, for which no operation of the API does so. */
  readonly event?: NewAuditEvent;
}

/** Starts a machine that is stopped or has failed. Undefined where another writer was first. */
export async function startMachine(
  context: Context,
  row: MachineRow,
  { change = {}, stop, event, newDisk = false }: StartOptions,
): Promise<MachineRow | undefined> {
  return timed(context.metrics.machineStart, async () => {
    const { on, anew } = await placeFor(context, row, newDisk);
    const keepsDisk = row.started_at !== null && on !== undefined && !newDisk;
    // A start that may find no disk goes on in the memory of a snapshot, which has the size and the main
    // process of now.
    const mayRollBack = keepsDisk && row.rollback_to !== null;
    const next = mayRollBack ? {} : takenOver(row);
    const request: PlacementRequest = {
      orgId: row.org_id,
      template: row.template,
      size: readSize(next.size ?? row.size),
      quotas: ({ disk_gib }) => {
        // Nothing is held for a machine that never ran.
        if (row.started_at === null) return { machines: 1, disk_gib };
        // What it holds counts already. The template may have a larger disk by now.
        return keepsDisk ? {} : { disk_gib: Math.max(0, disk_gib - row.disk_gib) };
      },
      ...(on === undefined ? {} : { on, keepsDisk }),
    };
    const reserving = reserve(context, request, async (transaction, { host, template }) => {
      const starting = await transitionMachine(transaction, row, "starting", {
        ...change,
        ...next,
        execution_id: newId("incarnation"),
        host_id: host.id,
        host_lost: false,
        // A new disk has nothing of the snapshot that the old one came from.
        ...(keepsDisk ? {} : { disk_gib: template.disk_gib, snapshot_id: null, rollback_to: null }),
      });
      if (starting === undefined) return undefined;
      await cancelRestart(transaction, row.id);
      if (event !== undefined) await insertAuditEvents(transaction, [event]);
      return starting;
    });
    const isAsSeen = async () => (await machineById(context.db, row.id))?.version === row.version;
    const reserved = await unlessOvertaken(reserving, isAsSeen);
    if (reserved?.row === undefined) return undefined;
    const { address } = reserved;
    return bringUp(context, reserved.row, {
      address,
      disk: keepsDisk ? "kept" : "new",
      reason: anew ?? null,
      ...(stop === undefined ? {} : { stop }),
    });
  });
}

interface Place {
  /** The host that has its disk; any, where there is none. */
  readonly on?: string;
  /** What its owner should know. */
  readonly anew?: string;
}

/** On the host that has its disk. On another one, with a new disk, only where the old one does not matter. */
async function placeFor(context: Context, row: MachineRow, newDisk: boolean): Promise<Place> {
  if (row.started_at === null) return firstPlaceFor(row, newDisk);
  const home = await findHost(context.db, row.host_id);
  const isRemoved = home === undefined || home.removed_at !== null;
  if (isRemoved || home.status === "offline") {
    if (newDisk || row.restart_disk === "disposable")
      return { anew: "its host was lost, so it was placed on another one, with a new disk" };
    throw isRemoved ? diskLost(row) : homeOffline(home);
  }
  const fault = homeFault(home);
  if (fault === undefined) return { on: home.id };
  // Another host makes the new disk, and VM cleanup removes the old one once the machine runs there.
  if (newDisk) return {};
  throw fault;
}

/** Anywhere. What was to begin with another machine's disk is not begun with that of the template, unless its owner says so. */
function firstPlaceFor(row: MachineRow, newDisk: boolean): Place {
  if (!newDisk && (row.snapshot_id !== null || row.forked_by !== null)) throw neverBegan(row);
  return {};
}

/** Why a host that is heard of cannot start what is on its disk now. */
function homeFault(home: HostRow): SkerryError | undefined {
  if (drainedText(home) !== undefined) return hostDraining(home, HOME);
  // The machine may still run there.
  return home.unsettled
    ? homeUnavailable(home, "just coming back", "Try again in a few seconds.")
    : undefined;
}

const GIVE_IT_UP = "start the machine with a new disk, which gives up what is on the old one";

function homeOffline(home: HostRow): SkerryError {
  return homeUnavailable(home, "offline", `Wait until the host is back, or ${GIVE_IT_UP}.`);
}

function diskLost({ host_id: hostId }: MachineRow): SkerryError {
  return new SkerryError("disk_gone", "The host that had the machine's disk was removed.", {
    remediation: `To run it again, ${GIVE_IT_UP}.`,
    context: { host_id: hostId },
  });
}

function neverBegan({ snapshot_id: snapshotId }: MachineRow): SkerryError {
  return new SkerryError(
    "disk_gone",
    "The machine never ran, so it has nothing of what it was to begin with.",
    {
      remediation: "Create another one from the snapshot, or start this one with a new disk of its template.",
      context: { snapshot_id: snapshotId },
    },
  );
}

const HOME = "The host that has the machine's disk";

function homeUnavailable({ id, status }: HostRow, state: string, remediation: string): SkerryError {
  return new SkerryError("host_unavailable", `${HOME} is ${state}.`, {
    remediation,
    retryAfterS: HOST_RETRY_S,
    context: { host_id: id, host_status: status },
  });
}

const HOST_RETRY_S = 10;

/** Has the host start what the row says, as `creating` or `starting`, and says in the row how that went. */
export async function bringUp(
  context: Context,
  row: MachineRow,
  {
    address,
    disk,
    from,
    change = {},
    reason,
    stop,
    timing,
  }: {
    readonly address: string;
    readonly disk: "new" | "kept";
    /** What it begins with, where that is not its template or its disk. */
    readonly from?: VmSpec["from"];
    /** What comes with its running. */
    readonly change?: MachineChange;
    readonly reason: string | null;
    readonly stop?: AbortSignal;
    readonly timing?: Pick<RequestTiming, "measureStart">;
  },
): Promise<MachineRow> {
  using _claim = keepVmClaim(context, row);
  const client = context.hosts.client(address);
  try {
    const machine = { command: row.command, disk };
    const spec = { ...(await vmSpecOf(context, row)), machine, ...(from === undefined ? {} : { from }) };
    const start = (onTiming?: VmStartOptions["onTiming"]) => client.startVm(row.id, spec, { stop, onTiming });
    await (timing === undefined ? start() : timing.measureStart(start));
  } catch (error) {
    if (stop?.aborted === true) throw error;
    const atSnapshot = isDiskGone(error) && disk === "kept" ? await beginAtSnapshot(context, row) : undefined;
    if (atSnapshot !== undefined)
      return bringUp(context, atSnapshot.row, { address, reason, ...atSnapshot.how });
    await undo(context, row, address);
    await endMachine(context, endedMachineOf(row), exitReasonOfStart(error));
    throw error;
  }
  const running = await transitionMachine(context.db, row, "running", {
    ...begun,
    ...change,
    egress_applied: row.egress_version,
    reason,
  });
  if (running === undefined) throw await overtaken(context, row, address);
  await bringCheck(context, running);
  // It was asked to stop while it was starting.
  if (running.desired === "stopped") context.wake("vm-cleanup");
  return running;
}

function isDiskGone(error: unknown): boolean {
  return error instanceof SkerryError && error.code === "disk_gone";
}

/** A rollback had its host give the disk up, and has not ended. Undefined where none was under way, or where another writer was first. */
async function beginAtSnapshot(context: Context, row: MachineRow) {
  const { rollback_to: snapshotId } = row;
  if (snapshotId === null) return undefined;
  const next = await changeMachine(context.db, row, {
    ...renewed,
    ...toldAsRollback(snapshotId),
    execution_id: newId("incarnation"),
  });
  if (next === undefined) return undefined;
  const from = { kind: "snapshot", snapshot_id: snapshotId } as const;
  return { row: next, how: { disk: "new", from, change: { snapshot_id: snapshotId } } } as const;
}

/** Another writer was first: the machine was destroyed, or this start was so slow that it was taken for dead. */
async function overtaken(context: Context, row: MachineRow, address: string): Promise<SkerryError> {
  await undo(context, row, address);
  const now = await machineById(context.db, row.id);
  const destroyed = now === undefined || now.status === "destroying" || now.status === "destroyed";
  return destroyed
    ? new SkerryError("machine_destroyed", "The machine was destroyed while it was being started.", {
        context: { machine_id: row.id },
      })
    : new SkerryError("machine_busy", "The machine changed while it was being started.", {
        remediation: "Read the machine, and start it again where it does not run.",
        retryAfterS: HOST_RETRY_S,
      });
}

/** What this start took on the host. Of a machine that has run before the disk stays. Where the host does not answer, VM cleanup finds
 *  a VM that no row wants. */
async function undo(context: Context, row: MachineRow, address: string): Promise<void> {
  const client = context.hosts.client(address);
  const isFirst = row.started_at === null;
  await (isFirst ? client.destroyVm(row) : client.stopVm(row, 0)).catch((error: unknown) => {
    if (error instanceof SkerryError && (error.status === 404 || error.status === 409)) return;
    context.log.warn({ err: error, machine_id: row.id }, "could not give a machine back to its host");
    context.wake("vm-cleanup");
  });
}
