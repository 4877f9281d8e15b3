// A VM becomes many: a snapshot that no caller is shown, and as many new VMs from it, all or none. Their rows
// are written first, together with that of the snapshot, under one check of quotas and room, and come to run
// in one transaction. A replica that dies before that leaves rows that VM cleanup ends, and a snapshot that
// it deletes.

import { SkerryError } from "@skerry/contract/errors";
import type { VmSpec } from "@skerry/contract/host-api/vm";
import { insertAuditEvents } from "../audit/insert-audit-events.ts";
import type { Amounts } from "../capacity/check-quotas.ts";
import type { Reservation } from "../capacity/reservation.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import type { HostClient } from "../host-client/host-client.ts";
import type { Attempt, Creation, Outcome } from "../idempotency/create-once.ts";
import { readSize } from "../values/sizes.ts";
import { vmSpecOf, type PlacedVm } from "../vms/creation/vm-specs.ts";
import { extendForkClaims, keepClaim } from "../vms/vm-claims.ts";
import { vmError, type VmKind } from "../vms/vm-kind.ts";
import { extendInternalClaim, forgetInternal } from "./internal-snapshot.ts";
import { bringSnapshot, reserveForks } from "./snapshot-room.ts";
import { inTurn, startForks } from "./start-forks.ts";
import type { SnapshotSource } from "./take-snapshot.ts";
import { finishTaking, newInternalSnapshot } from "./take-snapshot.ts";
import type { SnapshotRow } from "./snapshot-row.ts";

type ForkedRow = SnapshotSource & PlacedVm & { readonly status: string; readonly started_at: Date | null };

/** The part of a fork that differs between kinds of VMs. */
export interface ForkedKind<Row extends ForkedRow, Shown> {
  readonly kind: VmKind;
  /** Amounts of one fork in quotas, beside the memory and the CPUs of its size. */
  quotas(source: Row): Partial<Amounts>;
  /** It inherits all but the name, and what has become of its source. */
  insert(transaction: Queries, source: Row, snapshot: SnapshotRow): Promise<Row>;
  /** Fields of its start that other kinds do not have. */
  specOf(fork: Row): Pick<VmSpec, "machine">;
  /** Undefined where it was destroyed meanwhile. */
  run(transaction: Queries, fork: Row): Promise<Row | undefined>;
  /** The error for a fork that was destroyed while it was being made. */
  destroyed(fork: Row): SkerryError;
  /** Tells the host what a VM that runs has beside. */
  hasRun(context: Context, row: Row): Promise<void>;
  /** Ends what an attempt has made, each on its own. */
  undo(context: Context, made: Forks<Row>, how: Undoing): Promise<readonly PromiseSettledResult<unknown>[]>;
  /** All that were made of this internal snapshot. */
  find(db: Queries, orgId: string, snapshotId: string): Promise<Row[]>;
  show(row: Row): Shown;
}

export interface Forks<Row> {
  readonly snapshot: SnapshotRow;
  readonly forks: readonly Row[];
}

export interface Undoing {
  readonly client: HostClient;
  readonly reason: string;
}

/** The source, by its id, and how many are to be made. */
export interface ForkParams {
  readonly id: string;
  readonly count: number;
}

interface ForkRequest<Row> extends ForkParams {
  /** The row of its source, when that runs. */
  readonly running: () => Promise<Row>;
}

export function vmFork<Row extends ForkedRow, Shown>(
  context: Context,
  caller: Caller,
  of: ForkedKind<Row, Shown>,
  { id, count, running }: ForkRequest<Row>,
): Creation<{ items: Shown[] }> {
  const answerOf = (rows: readonly Row[]) => ({ items: rows.map((row) => of.show(row)) });
  return {
    create: async (attempt) => {
      try {
        return answerOf(await fork(context, of, { source: await running(), count, attempt }));
      } catch (error) {
        throw await vmError(context, caller, { kind: of.kind, id }, error);
      }
    },
    /** Either all VMs of the internal snapshot have run, or none has. */
    outcome: async (snapshotId): Promise<Outcome<{ items: Shown[] }>> => {
      const forks = await of.find(context.db, caller.orgId, snapshotId);
      if (forks.some(({ status }) => status === "creating")) {
        context.wake("vm-cleanup");
        return { kind: "pending" };
      }
      const haveRun = forks.length > 0 && forks.every(({ started_at }) => started_at !== null);
      return haveRun ? { kind: "ready", answer: answerOf(forks) } : { kind: "nothing" };
    },
  };
}

interface Forking<Row> {
  readonly source: Row;
  readonly count: number;
  readonly attempt: Attempt;
}

async function fork<Row extends ForkedRow, Shown>(
  context: Context,
  of: ForkedKind<Row, Shown>,
  forking: Forking<Row>,
): Promise<readonly Row[]> {
  const { row: made, address } = await takeRoom(context, of, forking);
  const { snapshot, forks } = made;
  const client = context.hosts.client(address);
  using _claims = keepClaim(context, async () => {
    await extendForkClaims(context.db, snapshot.id);
    await extendInternalClaim(context, snapshot.id);
  });
  try {
    const taken = await finishTaking(context, snapshot);
    await bringSnapshot(context, taken, forks[0]?.host_id ?? snapshot.host_id);
    await startForks(forks, async (one) => {
      const from = { kind: "snapshot", snapshot_id: snapshot.id } as const;
      await client.startVm(one.id, { ...(await vmSpecOf(context, one)), ...of.specOf(one), from });
    });
    const rows = await haveAllRun(context, of, made, forking);
    await Promise.all(rows.map((row) => of.hasRun(context, row)));
    return rows;
  } catch (error) {
    const reason = `could not be forked: ${error instanceof SkerryError ? error.message : "internal error"}`;
    const undone = await of.undo(context, made, { client, reason });
    // Where the host does not answer, VM cleanup goes on with it.
    if (undone.some(({ status }) => status === "rejected")) context.wake("vm-cleanup");
    throw error;
  } finally {
    await forgetInternal(context, snapshot.id);
  }
}

/** For all of them, or for none. */
function takeRoom<Row extends ForkedRow, Shown>(
  context: Context,
  of: ForkedKind<Row, Shown>,
  { source, count, attempt }: Forking<Row>,
): Promise<Reservation<Forks<Row>>> {
  const { org_id: orgId, host_id: hostId, template } = source;
  const room = { orgId, hostId, template, size: readSize(source.size), count, quotas: of.quotas(source) };
  return reserveForks(context, room, async (transaction, { host }) => {
    const snapshot = await newInternalSnapshot(transaction, source);
    const forks = await inTurn(Array.from({ length: count }), () =>
      of.insert(transaction, { ...source, host_id: host.id }, snapshot),
    );
    await attempt.begun(transaction, snapshot.id);
    return { snapshot, forks };
  });
}

function haveAllRun<Row extends ForkedRow, Shown>(
  { db }: Context,
  of: ForkedKind<Row, Shown>,
  { forks }: Forks<Row>,
  { source, attempt }: Forking<Row>,
): Promise<Row[]> {
  return db.transaction().execute(async (transaction) => {
    const rows = await inTurn(forks, async (one) => {
      const row = await of.run(transaction, one);
      if (row === undefined) throw of.destroyed(one);
      return row;
    });
    // One event for all, of the VM that was forked.
    const event = attempt.ready(source);
    if (event !== undefined) await insertAuditEvents(transaction, [event]);
    return rows;
  });
}
