import { SkerryError } from "@skerry/contract/errors";
import { idKinds, isId, kindOf } from "@skerry/contract/ids";
import type { Snapshot, SnapshotListQuery } from "@skerry/contract/snapshots/snapshot";
import { authorize } from "../api/authorize.ts";
import type { Versioned } from "../api/versioned.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { retryOnConflict } from "../db/retry-on-conflict.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import type { Outcome } from "../idempotency/create-once.ts";
import { checkText } from "../values/check-text.ts";
import { readPage, type Page } from "../values/page.ts";
import { quoted } from "../values/quoted.ts";
import { leaveToCleanup } from "../vms/postpone.ts";
import {
  findSnapshot,
  isGoneBackTo,
  listSnapshots,
  snapshotsOfIds,
  transitionSnapshot,
  type ShownSnapshots,
  type SnapshotOf,
} from "./snapshot-store.ts";
import type { SnapshotRow } from "./snapshot-row.ts";

export async function listSnapshotsOf(
  context: Context,
  caller: Caller,
  { of, ...params }: SnapshotListQuery,
): Promise<Page<Snapshot>> {
  const shown = shownTo(caller, ["read"]);
  const wanted = { ...shown, of: shown.of.filter((noun) => (of ?? noun) === noun) };
  const page = await readPage("snapshot", params, (before, limit) =>
    listSnapshots(context.db, wanted, { before, limit }),
  );
  return { ...page, items: page.items.map(snapshotOf) };
}

const tables = { sandbox: "sandboxes", machine: "machines" } as const;

/** What a token may do with the snapshots of sandboxes, or of machines. Who reads what is in one needs `execute`, as in the VM itself. */
type Verb = "read" | "write" | "execute";

/** Those with which the caller may do one of these. A token for sandboxes alone says nothing about machines, and the other way round. */
function shownTo({ orgId, scopes }: Caller, verbs: readonly Verb[]): ShownSnapshots {
  const nouns: readonly SnapshotOf[] = ["sandbox", "machine"];
  const of = nouns.filter((noun) => verbs.some((verb) => scopes.has(`${tables[noun]}:${verb}`)));
  return { orgId, of };
}

function nounOf({ vm_id }: Pick<SnapshotRow, "vm_id">): SnapshotOf {
  return kindOf(vm_id) === "machine" ? "machine" : "sandbox";
}

/** By id or name, to be shown. Throws `snapshot_not_found`, also where it is another organization's. */
export function getSnapshot(context: Context, caller: Caller, asked: string): Promise<SnapshotRow> {
  return requireSnapshot(context, shownTo(caller, ["read"]), asked);
}

/** By id or name, to be deleted. One that the caller may only read is found, so that `authorize` can name the scope that is missing. Throws `snapshot_not_found`. */
export function getDeletableSnapshot(context: Context, caller: Caller, asked: string): Promise<SnapshotRow> {
  return requireSnapshot(context, shownTo(caller, ["read", "write"]), asked);
}

async function requireSnapshot(context: Context, shown: ShownSnapshots, asked: string): Promise<SnapshotRow> {
  const row = isSane(asked) ? await findSnapshot(context.db, shown, asked) : undefined;
  if (row === undefined) {
    throw new SkerryError("snapshot_not_found", `There is no snapshot ${quoted(asked)}.`, {
      remediation: "`GET /v1/snapshots` lists those of the organization.",
    });
  }
  return row;
}

/** Those of these that are shown. */
export async function findSnapshots(
  context: Context,
  orgId: string,
  ids: readonly string[],
): Promise<Versioned<Snapshot>[]> {
  const rows = await snapshotsOfIds(context.db, orgId, ids);
  return rows.map((row) => ({ id: row.id, version: row.version, shownTo: () => snapshotOf(row) }));
}

/** One that a request names in its body, to start from. Throws `unknown_snapshot` where it cannot be, and `snapshot_incompatible` where it is
 *  not of such a VM. `into`: the VM that goes back to it, with its own environment and public ports; where it is another VM's, they would show
 *  what is in it, so the caller must be one who may read that. */
export async function usableSnapshot(
  context: Context,
  caller: Caller,
  { asked, of, into }: { readonly asked: string; readonly of: SnapshotOf; readonly into?: string },
): Promise<SnapshotRow> {
  const row = await findReady(context, shownTo(caller, ["write"]), asked, of);
  if (into !== undefined && row.vm_id !== into) requireReading(caller, of);
  return row;
}

async function findReady(
  context: Context,
  shown: ShownSnapshots,
  asked: string,
  of?: SnapshotOf,
): Promise<SnapshotRow> {
  const row = isSane(asked) ? await findSnapshot(context.db, shown, asked) : undefined;
  if (row !== undefined && of !== undefined && nounOf(row) !== of) throw ofOther(asked, nounOf(row));
  if (row?.status === "ready") return row;
  const why =
    row === undefined
      ? `There is no snapshot ${quoted(asked)}.`
      : `The snapshot ${quoted(asked)} is ${row.status}.`;
  throw new SkerryError("unknown_snapshot", why, {
    remediation: "`GET /v1/snapshots` lists those of the organization; one that is `ready` can be used.",
    context: { field: "snapshot" },
  });
}

/** One that is to be read: what a build stands on shows what is in it. Throws as `usableSnapshot` does, and `forbidden` where the caller knows of it
 *  and may not read in the VM that it is of. */
export async function readableSnapshot(
  context: Context,
  caller: Caller,
  asked: string,
): Promise<SnapshotRow> {
  const row = await findReady(context, shownTo(caller, ["read", "write", "execute"]), asked);
  requireReading(caller, nounOf(row));
  if (row.contains_secrets)
    throw new SkerryError(
      "snapshot_has_secrets",
      `The snapshot ${quoted(asked)} is of a ${nounOf(row)} that had secrets, so no template is built on it.`,
      {
        remediation: `Take one of a ${nounOf(row)} without secrets.`,
        context: { field: "from", value: asked },
      },
    );
  return row;
}

/** Throws `forbidden` where the caller may not read what is in such VMs, and so nothing of their snapshots. */
export function requireReading(caller: Caller, noun: SnapshotOf): void {
  authorize(caller, { scope: `${tables[noun]}:execute`, role: "member" });
}

function ofOther(asked: string, noun: SnapshotOf): SkerryError {
  return new SkerryError(
    "snapshot_incompatible",
    `The snapshot ${quoted(asked)} is of a ${noun}, and nothing but ${tables[noun]} can begin there.`,
    {
      remediation: `Create a ${noun} from it, or name another snapshot.`,
      context: { field: "snapshot", value: asked },
    },
  );
}

function isSane(asked: string): boolean {
  return asked !== "" && asked.length <= 200 && !asked.includes("\0") && asked.isWellFormed();
}

/** A name for a new one. Throws `bad_request`. */
export function checkSnapshotName(name: string): string {
  checkText("name", name);
  if (!name.startsWith(`${idKinds.snapshot}_`) && name !== "." && name !== "..") return name;
  throw new SkerryError(
    "bad_request",
    `"name" cannot be ${quoted(name)}: a path could not tell it from an id or a step.`,
    {
      remediation: "Choose another name.",
      context: { field: "name" },
    },
  );
}

/** Its files are removed at once, or by VM cleanup where the host does not answer. What was made of it stays. */
export async function deleteSnapshot(context: Context, caller: Caller, asked: string): Promise<void> {
  const row = await retryOnConflict(
    async () => {
      const seen = await getDeletableSnapshot(context, caller, asked);
      authorize(caller, { scope: `${tables[nounOf(seen)]}:write`, role: "member" });
      return seen.status === "deleting" ? seen : transitionSnapshot(context.db, seen, "deleting");
    },
    () => new SkerryError("internal", "The snapshot changed too often to be deleted."),
  );
  await finishDeleting(context, row).catch((error: unknown) => leaveToCleanup(context, row, error));
}

/** With a host that has been removed it is gone for us. Throws while a rollback to it is under way: nothing else may be left of that VM. */
export async function finishDeleting(
  context: Context,
  row: Pick<SnapshotRow, "id" | "version" | "status" | "host_id">,
  stop?: AbortSignal,
): Promise<void> {
  const address = await hostAddress(context.db, row.host_id);
  if (address !== undefined && (await isGoneBackTo(context.db, row.id)))
    throw new Error("a VM is being rolled back to the snapshot");
  if (address !== undefined) await context.hosts.client(address).snapshots.delete(row.id, stop);
  // Losing here means that another writer finished the same deletion.
  await transitionSnapshot(context.db, row, "deleted");
}

export function snapshotOf(row: SnapshotRow): Snapshot {
  const { status } = row;
  if (status === "deleted") throw new Error("a deleted snapshot is not shown");
  return {
    id: row.id,
    name: row.name,
    status,
    sandbox_id: nounOf(row) === "sandbox" ? row.vm_id : null,
    machine_id: nounOf(row) === "machine" ? row.vm_id : null,
    parent_id: row.parent_id,
    command: row.command,
    contains_secrets: row.contains_secrets,
    template: row.template,
    size: row.size,
    memory_bytes: row.memory_bytes === null ? null : Number(row.memory_bytes),
    disk_bytes: row.disk_bytes === null ? null : Number(row.disk_bytes),
    host_id: row.host_id,
    runs_on: row.runs_on,
    created_at: row.created_at.toISOString(),
    reason: row.reason ?? lossOf(row),
  };
}

/** It is as good as it was when its host is back. */
function lossOf({ status, lost_host = null }: SnapshotRow): string | null {
  return status === "ready" && lost_host !== null ? `host_offline: its host ${lost_host} is offline` : null;
}

/** Whether a path names it by its id. */
export function isSnapshotId(asked: string): boolean {
  return isId("snapshot", asked);
}

/** Of a request that took one and was not answered. */
export async function snapshotOutcome(
  context: Context,
  caller: Caller,
  id: string,
): Promise<Outcome<Snapshot>> {
  const row = await findSnapshot(context.db, shownTo(caller, ["write"]), id);
  if (row?.status === "ready") return { kind: "ready", answer: snapshotOf(row) };
  if (row?.status !== "creating") return { kind: "nothing" };
  context.wake("vm-cleanup");
  return { kind: "pending" };
}
