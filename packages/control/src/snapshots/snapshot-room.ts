// Room for what begins from a snapshot: on the host that has its files, and where that is full on another one, to which they travel.

import { SkerryError } from "@skerry/contract/errors";
import { reserveOn, type HostRequest } from "../capacity/host-reservation.ts";
import type { Found, Reservation } from "../capacity/reservation.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { carrySnapshot, carrySnapshotTo } from "../moves/carry-snapshot.ts";
import { hostsWithRoom } from "../moves/begin-saved-move.ts";
import { snapshotHost } from "./snapshot-store.ts";
import type { SnapshotRow } from "./snapshot-row.ts";
import { holdSnapshotOn } from "./hold-snapshot.ts";

type Write<Row> = (transaction: Queries, found: Pick<Found, "host" | "egress">) => Promise<Row>;

/** Others may fill the host that the files have gone to. */
const TRIES_MAX = 3;

/** As `reserveOn`, for one VM that begins from this snapshot, which stays on the host until the VM's row says that it begins there. */
export async function reserveAtSnapshot<Row>(
  context: Context,
  { snapshot, ...request }: Omit<HostRequest, "hostId"> & { readonly snapshot: SnapshotRow },
  write: Write<Row>,
): Promise<Reservation<Row>> {
  for (let tries = 1, hostId = snapshot.host_id; ; tries += 1) {
    try {
      return await reserveOn(context, { ...request, hostId }, async (transaction, found) => {
        if (!(await holdSnapshotOn(transaction, snapshot.id, hostId))) throw new ElsewhereNow();
        return write(transaction, found);
      });
    } catch (error) {
      const at = { ...snapshot, host_id: hostId };
      const mayHaveMoved =
        error instanceof ElsewhereNow || (isFull(error) && (await carrySnapshot(context, at, request.size)));
      const now = mayHaveMoved ? await snapshotHost(context.db, snapshot.id) : undefined;
      if (error instanceof ElsewhereNow && now === undefined) throw gone();
      if (now === undefined || tries === TRIES_MAX) throw error;
      hostId = now;
    }
  }
}

/** The snapshot has been carried to another host a moment before, or deleted. */
class ElsewhereNow extends Error {
  override readonly name = "ElsewhereNow";
}

/** As `reserveOn`, for the forks of a VM on this host: all of them there, or all on one other host. */
export async function reserveForks<Row>(
  context: Context,
  request: HostRequest & { readonly template: string },
  write: Write<Row>,
): Promise<Reservation<Row>> {
  try {
    return await reserveOn(context, request, write);
  } catch (error) {
    if (!isFull(error)) throw error;
    for (const hostId of await hostsWithRoom(context, request)) {
      const reserved = await reserveOn(context, { ...request, hostId }, write).catch(unlessFull);
      if (reserved !== undefined) return reserved;
    }
    throw error;
  }
}

/** The snapshot of a fork goes where its forks are to begin. */
export async function bringSnapshot(context: Context, snapshot: SnapshotRow, hostId: string): Promise<void> {
  if (snapshot.host_id !== hostId) await carrySnapshotTo(context, snapshot, hostId);
}

function isFull(error: unknown): boolean {
  return error instanceof SkerryError && error.code === "no_capacity";
}

function unlessFull(error: unknown): undefined {
  if (!isFull(error)) throw error;
}

function gone(): SkerryError {
  return new SkerryError("unknown_snapshot", "The snapshot was deleted meanwhile.", {
    remediation: "`GET /v1/snapshots` lists those of the organization; one that is `ready` can be used.",
    context: { field: "snapshot" },
  });
}
