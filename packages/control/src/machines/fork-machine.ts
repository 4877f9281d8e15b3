// A machine becomes many: an internal snapshot of it, and as many new machines from that, all or none. Each has a disk, a name for the network
// and a life of its own, by the restart policy of the source; its main process goes on from memory. The rows are written first, together with
// that of the snapshot, under one check of quotas and room, and come to run in one transaction. A replica that dies before that leaves rows
// that VM cleanup destroys (`abandon`), and a snapshot that it deletes.

import { SkerryError } from "@skerry/contract/errors";
import { newId } from "@skerry/contract/ids";
import type { MachineForks } from "@skerry/contract/machines/machine";
import { insertAuditEvents } from "../audit/insert-audit-events.ts";
import type { Reservation } from "../capacity/reservation.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import type { Attempt, Creation, Outcome } from "../idempotency/create-once.ts";
import {
  extendInternalClaim,
  finishTaking,
  forgetInternal,
  newInternalSnapshot,
} from "../snapshots/internal-snapshot.ts";
import type { SnapshotRow } from "../snapshots/snapshots.ts";
import { bringSnapshot, reserveForks } from "../snapshots/snapshot-room.ts";
import { inTurn, startForks } from "../snapshots/start-forks.ts";
import { readSize } from "../values/sizes.ts";
import { vmSpecOf } from "../vms/creation/vm-specs.ts";
import { wholeEnv } from "../vms/env.ts";
import { keepClaim } from "../vms/keep-claim.ts";
import { vmError } from "../vms/vm-kind.ts";
import { finishDestroyingMachine } from "./destroy-machine.ts";
import { bringCheck } from "./machine-checks.ts";
import { abandonMachineForks, extendMachineForkClaims, findMachineForks } from "./machine-fork-store.ts";
import { begun, insertMachine, transitionMachine, type MachineRow } from "./machine-store.ts";
import { getRunningMachine, machineOf, machineVms } from "./machines.ts";

export function machineFork(
  context: Context,
  caller: Caller,
  { id, count }: { readonly id: string; readonly count: number },
): Creation<MachineForks> {
  return {
    create: async (attempt) => {
      try {
        const source = await getRunningMachine(context, caller, id);
        return answerOf(await forkMachine(context, { source, count }, attempt));
      } catch (error) {
        throw await vmError(context, caller, { kind: machineVms, id }, error);
      }
    },
    outcome: (snapshotId) => outcomeOf(context, caller, snapshotId),
  };
}

interface Forking {
  readonly source: MachineRow;
  readonly count: number;
}

interface Forks {
  readonly snapshot: SnapshotRow;
  readonly forks: readonly MachineRow[];
}

async function forkMachine(
  context: Context,
  forking: Forking,
  attempt: Attempt,
): Promise<readonly MachineRow[]> {
  const { row: made, address } = await takeRoom(context, forking, attempt);
  const { snapshot, forks } = made;
  const client = context.hosts.client(address);
  using _claims = keepClaim(context, async () => {
    await extendMachineForkClaims(context.db, snapshot.id);
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
      const machine = { command: fork.command, disk: "new" } as const;
      const from = { kind: "snapshot", snapshot_id: snapshot.id } as const;
      await client.startVm(fork.id, { ...spec, machine, from });
    });
    const rows = await context.db.transaction().execute(async (transaction) => {
      const run = await inTurn(forks, (fork) => running(transaction, fork));
      // One event for all, of the machine that was forked.
      const event = attempt.ready(forking.source);
      if (event !== undefined) await insertAuditEvents(transaction, [event]);
      return run;
    });
    await Promise.all(rows.map((row) => bringCheck(context, row)));
    return rows;
  } catch (error) {
    await undo(context, snapshot, error);
    throw error;
  } finally {
    await forgetInternal(context, snapshot.id);
  }
}

/** For all of them, or for none. */
function takeRoom(
  context: Context,
  { source, count }: Forking,
  attempt: Attempt,
): Promise<Reservation<Forks>> {
  const { org_id: orgId, host_id: hostId, template, disk_gib } = source;
  const quotas = { machines: 1, disk_gib };
  const room = { orgId, hostId, template, size: readSize(source.size), count, quotas };
  return reserveForks(context, room, async (transaction, { host }) => {
    const snapshot = await newInternalSnapshot(transaction, source);
    const forks = await inTurn(Array.from({ length: count }), () =>
      insertFork(transaction, { ...source, host_id: host.id }, snapshot),
    );
    await attempt.begun(transaction, snapshot.id);
    return { snapshot, forks };
  });
}

/** It inherits all but the name, and what has become of its source: restarts, retries and the last exit code. */
function insertFork(transaction: Queries, source: MachineRow, snapshot: SnapshotRow): Promise<MachineRow> {
  const { org_id, template, size, vcpus, memory_mib, disk_gib, host_id, metadata, egress } = source;
  const { health_check, stop_after_idle_ms, autostart } = source;
  const { command, stop_timeout_ms, restart_policy, restart_max_retries, restart_disk, snapshot_id } = source;
  return insertMachine(transaction, {
    ...{ org_id, template, size, vcpus, memory_mib, disk_gib, host_id, metadata, egress },
    ...{ health_check, stop_after_idle_ms, autostart },
    ...{ command, stop_timeout_ms, restart_policy, restart_max_retries, restart_disk, snapshot_id },
    env: wholeEnv(source.env),
    id: newId("machine"),
    name: null,
    unique_name: null,
    execution_id: newId("incarnation"),
    forked_by: snapshot.id,
  });
}

async function running(transaction: Queries, fork: MachineRow): Promise<MachineRow> {
  const row = await transitionMachine(transaction, fork, "running", {
    ...begun,
    egress_applied: fork.egress_version,
  });
  if (row !== undefined) return row;
  throw new SkerryError("machine_destroyed", "A fork was destroyed while it was being made.", {
    context: { machine_id: fork.id },
  });
}

/** What this attempt took. Where the host does not answer, VM cleanup goes on with rows that are `destroying`. */
async function undo(context: Context, snapshot: SnapshotRow, error: unknown): Promise<void> {
  const reason = `could not be forked: ${error instanceof SkerryError ? error.message : "internal error"}`;
  const abandoned = await abandonMachineForks(context.db, snapshot.id, reason);
  const undone = await Promise.allSettled(abandoned.map((fork) => finishDestroyingMachine(context, fork)));
  if (undone.some(({ status }) => status === "rejected")) context.wake("vm-cleanup");
}

function answerOf(rows: readonly MachineRow[]): MachineForks {
  return { items: rows.map(machineOf) };
}

/** `snapshotId` is that of the internal one. Either all of its machines have run, or none has. */
async function outcomeOf(
  context: Context,
  { orgId }: Caller,
  snapshotId: string,
): Promise<Outcome<MachineForks>> {
  const forks = await findMachineForks(context.db, orgId, snapshotId);
  if (forks.some(({ status }) => status === "creating")) {
    context.wake("vm-cleanup");
    return { kind: "pending" };
  }
  const haveRun = forks.length > 0 && forks.every(({ started_at }) => started_at !== null);
  return haveRun ? { kind: "ready", answer: answerOf(forks) } : { kind: "nothing" };
}
