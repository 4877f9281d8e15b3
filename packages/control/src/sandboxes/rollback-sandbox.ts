// A sandbox goes back to a snapshot: its microVM is destroyed, and a new incarnation begins where the snapshot was taken, in the same row.

import { newIdAfter } from "@skerry/contract/ids";
import { SkerryError } from "@skerry/contract/errors";
import { reserveOn } from "../capacity/host-reservation.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { retryOnConflict } from "../db/retry-on-conflict.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { bringSnapshot, holdSnapshotOn } from "../snapshots/snapshot-room.ts";
import { usableSnapshot, type SnapshotRow } from "../snapshots/snapshots.ts";
import { readSize } from "../values/sizes.ts";
import { vmSpecOf } from "../vms/creation/vm-specs.ts";
import { isAnswer } from "../vms/is-answer.ts";
import { keepClaim } from "../vms/keep-claim.ts";
import { clientOf } from "../vms/vm-kind.ts";
import { adoptSandbox } from "./sandbox-facts.ts";
import { dropClaim, extendClaim, transitionSandbox, type SandboxRow } from "./sandbox-store.ts";
import { getSandbox, notRunning } from "./sandboxes.ts";
import { settledSandbox } from "./settled-sandbox.ts";

export async function rollBackSandbox(
  context: Context,
  caller: Caller,
  { id, snapshot: asked }: { readonly id: string; readonly snapshot: string },
): Promise<SandboxRow> {
  // What the path names comes first.
  await getSandbox(context, caller, id);
  return retryOnConflict(
    async () => {
      // Read anew each time: it may have been carried to another host, or deleted.
      const snapshot = await usableSnapshot(context, caller, { asked, of: "sandbox", into: id });
      const row = await settledSandbox(context, caller, id);
      if (row.status !== "running" && row.status !== "paused") throw notRunning(row);
      refuseOther(row, snapshot);
      await bringSnapshot(context, snapshot, row.host_id);
      const resuming = await begin(context, row, snapshot);
      return resuming && finish(context, { before: row, resuming, snapshot });
    },
    () =>
      new SkerryError("vm_moving", "The sandbox is on its way to another host.", {
        remediation: "Try again in a few seconds.",
        retryAfterS: 2,
      }),
  );
}

/** Its disk and its memory have the form of the template and the size. */
function refuseOther({ template, size }: SandboxRow, snapshot: SnapshotRow): void {
  if (snapshot.template === template && snapshot.size === size) return;
  const fault = `it is of the template "${snapshot.template}" with the size "${snapshot.size}", and the sandbox of "${template}" with "${size}"`;
  throw new SkerryError(
    "snapshot_incompatible",
    `The sandbox cannot be rolled back to this snapshot: ${fault}.`,
    {
      remediation: "Create a sandbox from the snapshot.",
      context: { reason: fault },
    },
  );
}

/** A paused one takes room. Undefined where another writer was first, or where the sandbox or the snapshot is on its way to another host. */
async function begin(
  context: Context,
  row: SandboxRow,
  { id }: SnapshotRow,
): Promise<SandboxRow | undefined> {
  const next = { kind: "rolled_back", reason: `to snapshot ${id}` } as const;
  // A snapshot that leaves keeps its files at its old host while the row says that a rollback is under way there, so it must not leave before that is written.
  const write = async (transaction: Queries) =>
    (await holdSnapshotOn(transaction, id, row.host_id))
      ? transitionSandbox(transaction, row, "resuming", { next })
      : undefined;
  if (row.status === "running") return context.db.transaction().execute(write);
  const room = { orgId: row.org_id, hostId: row.host_id, size: readSize(row.size) };
  return (await reserveOn(context, room, write)).row;
}

interface Rollback {
  readonly before: SandboxRow;
  readonly resuming: SandboxRow;
  readonly snapshot: SnapshotRow;
}

async function finish(context: Context, rollback: Rollback): Promise<SandboxRow | undefined> {
  const { resuming, snapshot } = rollback;
  using _claim = keepClaim(context, () => extendClaim(context.db, resuming));
  context.vmLocations.forget(resuming.id);
  const client = await clientOf(context, resuming);
  await requireThere(context, rollback, client);
  const life = { id: resuming.id, execution_id: newIdAfter("incarnation", resuming.execution_id) };
  try {
    await client.destroyVm(resuming);
    const spec = await vmSpecOf(context.db, { ...resuming, ...life });
    await client.startVm(life.id, { ...spec, from: { kind: "snapshot", snapshot_id: snapshot.id } });
  } catch (error) {
    if (isAnswer(error))
      await transitionSandbox(context.db, resuming, "failed", {
        reason: `could not be rolled back: ${error.message}`,
      });
    else {
      await dropClaim(context.db, resuming);
      context.wake("vm-cleanup");
    }
    throw error;
  }
  const running = await transitionSandbox(context.db, resuming, "running", {
    egressVersion: resuming.egress_version,
    executionId: life.execution_id,
    snapshotId: snapshot.id,
  });
  if (running === undefined) await client.destroyVm(life);
  return running;
}

/** What the sandbox is now is given up for it, so it is looked for first. */
async function requireThere(
  context: Context,
  { before, resuming, snapshot }: Rollback,
  client: HostClient,
): Promise<void> {
  try {
    const listed = await client.snapshots.list();
    if (listed.some(({ id }) => id === snapshot.id)) return;
    throw new SkerryError("snapshot_not_found", "The host does not have the snapshot any more.");
  } catch (error) {
    const { execution_id } = before;
    const status = before.status === "paused" ? "paused" : "running";
    await adoptSandbox(context.db, resuming, { status, execution_id });
    throw error;
  }
}
