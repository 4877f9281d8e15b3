// A sandbox goes back to a snapshot: a new incarnation that begins where the snapshot was taken takes the place of its microVM, in the same row. The row
// names both before anything is given up. Where a process dies after that, VM cleanup asks the host for the same incarnation again.

import { newIdAfter } from "@skerry/contract/ids";
import { SkerryError } from "@skerry/contract/errors";
import type { VmSpec } from "@skerry/contract/host-api/vm";
import { reserveOn } from "../capacity/host-reservation.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import type { NextEvent } from "../db/tables/event-tables.ts";
import type { Rollback } from "../db/tables/sandbox-tables.ts";
import { retryOnConflict } from "../db/retry-on-conflict.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { bringSnapshot } from "../snapshots/snapshot-room.ts";
import { usableSnapshot } from "../snapshots/snapshots.ts";
import { readSize } from "../values/sizes.ts";
import { noteSecretsOf } from "../vms/creation/vm-secrets.ts";
import { vmSpecOf } from "../vms/creation/vm-specs.ts";
import { dropClaim, keepVmClaim } from "../vms/vm-claims.ts";
import { unlessOwned } from "../vms/owned.ts";
import { postpone } from "../vms/postpone.ts";
import { clientOf } from "../vms/vm-kind.ts";
import { AGAIN, afterAttempt } from "./after-attempt.ts";
import { adoptSandbox, findSandboxVersion } from "./adoption-store.ts";
import type { SandboxFact } from "./sandbox-facts.ts";
import {
  sandboxTable,
  findSandbox,
  statusesPastSaving,
  transitionSandbox,
  type SandboxRow,
} from "./sandbox-store.ts";
import { getSandbox, notRunning } from "./sandboxes.ts";
import { settledSandbox } from "./settled-sandbox.ts";
import type { SnapshotRow } from "../snapshots/snapshot-row.ts";
import { holdSnapshotOn } from "../snapshots/hold-snapshot.ts";

export async function rollBackSandbox(
  context: Context,
  caller: Caller,
  { id, snapshot: asked }: { readonly id: string; readonly snapshot: string },
): Promise<SandboxRow> {
  // What the path names comes first.
  unlessOwned(sandboxTable, await getSandbox(context, caller, id));
  return retryOnConflict(
    async () => {
      // Read anew each time: it may have been carried to another host, or deleted.
      const snapshot = await usableSnapshot(context, caller, { asked, of: "sandbox", into: id });
      const row = await settledSandbox(context, caller, id);
      if (row.status !== "running" && row.status !== "paused") throw notRunning(row);
      refuseOther(row, snapshot);
      await bringSnapshot(context, snapshot, row.host_id);
      const resuming = await begin(context, row, snapshot);
      return resuming && finish(context, resuming);
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
  snapshot: SnapshotRow,
): Promise<SandboxRow | undefined> {
  const { id } = snapshot;
  const rollback = { snapshot_id: id, execution_id: newIdAfter("incarnation", row.execution_id) };
  // A snapshot that leaves keeps its files at its old host while the row says that a rollback is under way there, so it must not leave before that is written.
  const write = async (transaction: Queries) => {
    if (!(await holdSnapshotOn(transaction, id, row.host_id))) return undefined;
    await noteSecretsOf(transaction, row.id, snapshot);
    return transitionSandbox(transaction, row, "resuming", { next: toldOf(rollback), rollback });
  };
  if (row.status === "running") return context.db.transaction().execute(write);
  const room = { orgId: row.org_id, hostId: row.host_id, size: readSize(row.size) };
  return (await reserveOn(context, room, write)).row;
}

function toldOf({ snapshot_id }: Rollback): NextEvent {
  return { kind: "rolled_back", reason: `to snapshot ${snapshot_id}` };
}

/** Once more, for VM cleanup: the replica before has died, or its host did not answer. */
export async function continueRollback(
  context: Context,
  { id, version, status, rollback }: SandboxFact,
  stop: AbortSignal,
): Promise<void> {
  if (rollback === null) return;
  const row =
    status === "unreachable"
      ? await transitionSandbox(context.db, { id, version, status }, "resuming", {
          next: toldOf(rollback),
          rollback,
        })
      : await findSandboxVersion(context.db, { id, version });
  if (row !== undefined)
    await finish(context, row, AbortSignal.any([stop, AbortSignal.timeout(PATIENCE_MS)]));
}

/** VM cleanup has more to do than to wait for one slow disk. The host goes on with it, and the next attempt joins the one that is under way. */
const PATIENCE_MS = 20_000;

/** Has the host carry out what the row says, as `resuming`, and says so in the row. Undefined where another writer was first. */
async function finish(
  context: Context,
  row: SandboxRow,
  stop?: AbortSignal,
): Promise<SandboxRow | undefined> {
  const { rollback } = row;
  if (rollback === null) throw new Error("the sandbox is not on its way to a snapshot");
  using _claim = keepVmClaim(context, row);
  context.vmLocations.forget(row.id);
  const client = await clientOf(context, row);
  try {
    const spec = await vmSpecOf(context, { ...row, execution_id: rollback.execution_id });
    const from = { kind: "snapshot", snapshot_id: rollback.snapshot_id } as const;
    await replaceVm(client, row, { spec: { ...spec, from }, stop });
  } catch (error) {
    await settle(context, client, { row, error });
    throw error;
  }
  const running = await transitionSandbox(context.db, row, "running", {
    egressVersion: row.egress_version,
    executionId: rollback.execution_id,
    snapshotId: rollback.snapshot_id,
  });
  return running ?? overtaken(context, client, row);
}

/** The host looks at the snapshot first, and gives up what the sandbox was only for what can begin. */
async function replaceVm(
  client: HostClient,
  before: SandboxRow,
  { spec, stop }: { readonly spec: VmSpec; readonly stop: AbortSignal | undefined },
): Promise<void> {
  try {
    await client.startVm(before.id, spec, { stop });
  } catch (error) {
    if (!(error instanceof SkerryError && error.code === "stale_execution")) throw error;
    // A host of the version before replaces none.
    await requireThere(client, spec);
    await client.destroyVm(before, stop);
    await client.startVm(before.id, spec, { stop });
  }
}

async function requireThere(client: HostClient, { from }: VmSpec): Promise<void> {
  const listed = await client.snapshots.list();
  if (listed.some(({ id }) => from?.kind === "snapshot" && id === from.snapshot_id)) return;
  throw new SkerryError("snapshot_not_found", "The host does not have the snapshot any more.");
}

interface Failed {
  readonly row: SandboxRow;
  readonly error: unknown;
}

/** Carries out what a failed attempt means. */
async function settle(context: Context, client: HostClient, { row, error }: Failed): Promise<void> {
  // Where the host does not say what it has, nothing is concluded.
  const vms = await client.listVms().catch(() => undefined);
  const step =
    vms === undefined
      ? AGAIN
      : afterAttempt(
          row,
          vms.find(({ id }) => id === row.id),
          error,
        );
  switch (step.kind) {
    case "goes_on":
      return void (await adoptSandbox(context.db, row, step.found));
    case "failed":
      return void (await transitionSandbox(context.db, row, "failed", { reason: step.reason }));
    case "again":
      await postpone(context.db, row, { error });
      await dropClaim(context.db, row);
      context.wake("vm-cleanup");
  }
}

/** It was destroyed meanwhile, or this replica was so slow that it was taken for dead and VM cleanup wrote what the host has. */
async function overtaken(
  context: Context,
  client: HostClient,
  { id, org_id, rollback }: SandboxRow,
): Promise<SandboxRow | undefined> {
  const now = await findSandbox(context.db, org_id, id);
  if (now?.status === "running" && now.execution_id === rollback?.execution_id) return now;
  const isGone = now === undefined || statusesPastSaving.includes(now.status);
  if (isGone && rollback !== null) await client.destroyVm({ id, execution_id: rollback.execution_id });
  context.wake("vm-cleanup");
  return undefined;
}
