// A machine goes back to a snapshot: it is stopped, and started in the same row from the memory and the disk of the snapshot, in the place of its
// own. Until its host has begun with that nothing is lost: a replica that dies while the machine stops leaves one that starts again from its own
// disk, and so does a start that the host refuses, by the restart policy. Once the host has begun the old disk is gone, and the row says which snapshot
// takes its place: a start that finds no disk begins there.

import { newId } from "@skerry/contract/ids";
import { SkerryError } from "@skerry/contract/errors";
import { reserveOn } from "../capacity/host-reservation.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { retryOnConflict } from "../db/retry-on-conflict.ts";
import { bringSnapshot } from "../snapshots/snapshot-room.ts";
import { usableSnapshot } from "../snapshots/snapshots.ts";
import { readSize } from "../values/sizes.ts";
import { noteSecretsOf } from "../vms/creation/vm-secrets.ts";
import { unlessOwned } from "../vms/owned.ts";
import { clientOf } from "../vms/vm-kind.ts";
import { busy, destroyed, isAtRest } from "./machine-power-actions.ts";
import { toldAsRollback, transitionMachine, type MachineRow } from "./machine-store.ts";
import { getMachine, machineVms } from "./machines.ts";
import { cancelRestart } from "./restart-queue-store.ts";
import { bringUp } from "./start-machine.ts";
import { stopMachineOnHost } from "./stop-machine.ts";
import type { SnapshotRow } from "../snapshots/snapshot-row.ts";
import { holdSnapshotOn } from "../snapshots/hold-snapshot.ts";

export async function rollBackMachine(
  context: Context,
  caller: Caller,
  { id, snapshot: asked }: { readonly id: string; readonly snapshot: string },
): Promise<MachineRow> {
  // What the path names comes first.
  unlessOwned(machineVms, await getMachine(context, caller, id));
  return retryOnConflict(async () => {
    // Read anew each time: it may have been carried to another host, or deleted.
    const snapshot = await usableSnapshot(context, caller, { asked, of: "machine", into: id });
    const row = await getMachine(context, caller, id);
    if (row.status === "destroying" || row.status === "destroyed") throw destroyed(row.status);
    if (row.status !== "running" && !isAtRest(row)) return undefined;
    refuseOther(row, snapshot);
    if (row.started_at === null) throw machineVms.notRunning(row);
    await bringSnapshot(context, snapshot, row.host_id);
    await requireThere(context, { ...snapshot, host_id: row.host_id });
    const atRest = isAtRest(row) ? row : await stopForIt(context, row);
    return atRest && begin(context, atRest, snapshot);
  }, busy).catch((error: unknown) => {
    // One that was stopped for it is to start again from its own disk.
    context.wake("vm-cleanup");
    throw error;
  });
}

/** Its memory and its disk have the form of the template and the size, and hold its main process. */
function refuseOther(row: MachineRow, snapshot: SnapshotRow): void {
  const fault = differenceOf(row, snapshot);
  if (fault === undefined) return;
  throw new SkerryError(
    "snapshot_incompatible",
    `The machine cannot be rolled back to this snapshot: ${fault}.`,
    { remediation: "Create a machine from the snapshot.", context: { reason: fault } },
  );
}

function differenceOf(row: MachineRow, snapshot: SnapshotRow): string | undefined {
  const { template, size } = row;
  if (snapshot.template !== template || snapshot.size !== size)
    return `it is of the template "${snapshot.template}" with the size "${snapshot.size}", and the machine of "${template}" with "${size}"`;
  if (snapshot.command !== null && snapshot.command !== row.command)
    return "it has another main process than the machine";
  return undefined;
}

/** What the machine is now is given up for it, so it is looked for first. */
async function requireThere(context: Context, { id, vm_id, host_id }: SnapshotRow): Promise<void> {
  const client = await clientOf(context, { id: vm_id, host_id });
  const listed = await client.snapshots.list();
  if (listed.some((one) => one.id === id)) return;
  throw new SkerryError("snapshot_not_found", "The host does not have the snapshot any more.");
}

/** At once: what its main process would do until it ends is given up as well. Where the host does not confirm, it is started again from its disk. */
async function stopForIt(context: Context, row: MachineRow): Promise<MachineRow | undefined> {
  context.vmLocations.forget(row.id);
  const stopping = await transitionMachine(context.db, row, "stopping", {
    desired: "running",
    restart_wished: true,
  });
  if (stopping === undefined) return undefined;
  return stopMachineOnHost(context, { ...stopping, stop_timeout_ms: 0 });
}

/** Undefined where another writer was first, or where the snapshot is not on the machine's host any more. */
async function begin(
  context: Context,
  row: MachineRow,
  snapshot: SnapshotRow,
): Promise<MachineRow | undefined> {
  const quotas = { disk_gib: Math.max(0, snapshot.disk_gib - row.disk_gib) };
  const room = { orgId: row.org_id, hostId: row.host_id, size: readSize(row.size), quotas };
  const { row: starting, address } = await reserveOn(context, room, async (transaction) => {
    // A snapshot that leaves keeps its files at its old host while the row says that a rollback is under way there, so it must not leave before that is written.
    if (!(await holdSnapshotOn(transaction, snapshot.id, row.host_id))) return undefined;
    await noteSecretsOf(transaction, row.id, snapshot);
    const written = await transitionMachine(transaction, row, "starting", {
      ...{ desired: "running", retries: 0, host_lost: false, disk_gib: snapshot.disk_gib },
      // If this start fails, the next one is by its policy.
      restart_wished: false,
      execution_id: newId("incarnation"),
      // Its old disk is given up from here on: whatever becomes of this start, the next one begins there too where that disk is gone.
      rollback_to: snapshot.id,
      ...toldAsRollback(snapshot.id),
    });
    if (written !== undefined) await cancelRestart(transaction, row.id);
    return written;
  });
  if (starting === undefined) return undefined;
  const from = { kind: "snapshot", snapshot_id: snapshot.id } as const;
  const change = { snapshot_id: snapshot.id };
  return bringUp(context, starting, { address, disk: "new", reason: null, from, change });
}
