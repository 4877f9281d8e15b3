// A sandbox becomes many: a snapshot that nobody is shown, and as many new sandboxes from it, all or none. Their rows are written first, together with
// that of the snapshot, under one check of quotas and room. A replica that dies on the way leaves rows that VM cleanup fails, and a snapshot that it
// deletes.

import { SkerryError } from "@skerry/contract/errors";
import { newId } from "@skerry/contract/ids";
import type { SandboxForks } from "@skerry/contract/sandboxes/sandbox";
import type { Reservation } from "../capacity/reservation.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import type { HostClient } from "../host-client/host-client.ts";
import type { Attempt, Creation, Outcome } from "../idempotency/create-once.ts";
import type { SnapshotRow } from "../snapshots/snapshots.ts";
import {
  extendInternalClaim,
  finishTaking,
  forgetInternal,
  newInternalSnapshot,
} from "../snapshots/internal-snapshot.ts";
import { bringSnapshot, reserveForks } from "../snapshots/snapshot-room.ts";
import { inTurn, startForks } from "../snapshots/start-forks.ts";
import { readSize } from "../values/sizes.ts";
import { vmSpecOf } from "../vms/creation/vm-specs.ts";
import { wholeEnv } from "../vms/env.ts";
import { keepClaim } from "../vms/keep-claim.ts";
import { vmError } from "../vms/vm-kind.ts";
import { extendForkClaims, findForks } from "./fork-store.ts";
import { resumeSandbox } from "./resume-sandbox.ts";
import { sandboxQuotas } from "./sandbox-quotas.ts";
import { insertSandbox, transitionSandbox, type SandboxRow } from "./sandbox-store.ts";
import { sandboxVms } from "./sandbox-vms.ts";
import { sandboxOf } from "./sandboxes.ts";

export function sandboxFork(
  context: Context,
  caller: Caller,
  params: { readonly id: string; readonly count: number },
): Creation<SandboxForks> {
  return {
    create: async (attempt) => {
      try {
        return answerOf(await forkSandbox(context, { caller, ...params }, attempt));
      } catch (error) {
        throw await vmError(context, caller, { kind: sandboxVms, id: params.id }, error);
      }
    },
    outcome: (id) => outcomeOf(context, caller, id),
  };
}

interface ForkRequest {
  readonly caller: Caller;
  readonly id: string;
  readonly count: number;
}

interface Begun {
  readonly snapshot: SnapshotRow;
  readonly forks: readonly SandboxRow[];
}

async function forkSandbox(
  context: Context,
  { caller, id, count }: ForkRequest,
  attempt: Attempt,
): Promise<readonly SandboxRow[]> {
  const source = await resumeSandbox(context, caller, { id, why: "for a fork" });
  const { row: begun, address } = await takeRoom(context, { source, count, attempt });
  const { snapshot, forks } = begun;
  const client = context.hosts.client(address);
  using _claims = keepClaim(context, async () => {
    await extendForkClaims(context.db, snapshot.id);
    await extendInternalClaim(context, snapshot.id);
  });
  try {
    await bringSnapshot(
      context,
      await finishTaking(context, snapshot),
      forks[0]?.host_id ?? snapshot.host_id,
    );
    await startForks(forks, async (fork) => {
      const spec = await vmSpecOf(context.db, fork);
      await client.startVm(fork.id, { ...spec, from: { kind: "snapshot", snapshot_id: snapshot.id } });
    });
    return await context.db.transaction().execute(async (transaction) => {
      const [first, ...others] = forks;
      if (first === undefined) throw new Error("a fork of nothing");
      // One event for all, of the sandbox that was forked.
      const event = attempt.ready(source);
      return [
        await running(
          transaction,
          first,
          event === undefined ? {} : { event: { ...event, resource_id: id } },
        ),
        ...(await inTurn(others, (fork) => running(transaction, fork, {}))),
      ];
    });
  } catch (error) {
    await undo(context, begun, { client, error });
    throw error;
  } finally {
    await forgetInternal(context, snapshot.id);
  }
}

/** For all of them, or for none. */
function takeRoom(
  context: Context,
  { source, count, attempt }: { source: SandboxRow; count: number; attempt: Attempt },
): Promise<Reservation<Begun>> {
  const size = readSize(source.size);
  const room = {
    orgId: source.org_id,
    hostId: source.host_id,
    template: source.template,
    size,
    count,
    quotas: sandboxQuotas({ mode: source.mode, diskGib: source.disk_gib, size }),
  };
  return reserveForks(context, room, async (transaction, { host }) => {
    const snapshot = await newInternalSnapshot(transaction, source);
    const forks = await inTurn(Array.from({ length: count }), () =>
      insertFork(transaction, { ...source, host_id: host.id }, snapshot),
    );
    await attempt.begun(transaction, snapshot.id);
    return { snapshot, forks };
  });
}

/** It inherits all but the name. */
function insertFork(transaction: Queries, source: SandboxRow, snapshot: SnapshotRow): Promise<SandboxRow> {
  const { org_id, template, mode, size, vcpus, memory_mib, disk_gib, host_id, timeout_ms } = source;
  const { metadata, egress, snapshot_id, pause_after_idle_ms, auto_resume } = source;
  return insertSandbox(transaction, {
    ...{ org_id, template, mode, size, vcpus, memory_mib, disk_gib, host_id, timeout_ms },
    ...{ metadata, egress, snapshot_id, pause_after_idle_ms, auto_resume },
    env: wholeEnv(source.env),
    id: newId("sandbox"),
    name: null,
    unique_name: null,
    execution_id: newId("incarnation"),
    forked_by: snapshot.id,
  });
}

async function running(
  transaction: Queries,
  fork: SandboxRow,
  options: Parameters<typeof transitionSandbox>[3],
): Promise<SandboxRow> {
  const row = await transitionSandbox(transaction, fork, "running", {
    ...options,
    egressVersion: fork.egress_version,
  });
  if (row !== undefined) return row;
  throw new SkerryError("sandbox_not_running", "A fork was destroyed while it was being made.", {
    context: { sandbox_id: fork.id },
  });
}

/** What this attempt took. Where the host does not answer, VM cleanup finds VMs whose rows have failed. */
async function undo(
  context: Context,
  { forks }: Begun,
  { client, error }: { readonly client: HostClient; readonly error: unknown },
): Promise<void> {
  const reason = `could not be forked: ${error instanceof SkerryError ? error.message : "internal error"}`;
  const undone = await Promise.allSettled(
    forks.map(async (fork) => {
      await transitionSandbox(context.db, fork, "failed", { reason });
      await client.destroyVm(fork);
    }),
  );
  if (undone.some(({ status }) => status === "rejected")) context.wake("vm-cleanup");
}

function answerOf(rows: readonly SandboxRow[]): SandboxForks {
  return { items: rows.map(sandboxOf) };
}

/** `snapshotId` is that of the internal one. Either all of its sandboxes have run, or none has. */
async function outcomeOf(
  context: Context,
  { orgId }: Caller,
  snapshotId: string,
): Promise<Outcome<SandboxForks>> {
  const forks = await findForks(context.db, orgId, snapshotId);
  if (forks.some(({ status }) => status === "creating")) {
    context.wake("vm-cleanup");
    return { kind: "pending" };
  }
  const haveRun = forks.length > 0 && forks.every(({ started_at }) => started_at !== null);
  return haveRun ? { kind: "ready", answer: answerOf(forks) } : { kind: "nothing" };
}
