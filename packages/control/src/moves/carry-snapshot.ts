// A snapshot goes where something is to begin from it. It moves and is not copied: it has one place, which its row names, so what counts for quotas, what
// is deleted and what a drain carries stays one thing; and where its host is full, the next ones to begin would find no room there either.

import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { Size } from "@skerry/contract/sizes";
import { TEMPLATE_WAIT_MS } from "../capacity/await-template.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { lockOrganization } from "../limits/organization-limits.ts";
import { beginSavedMove, isBrought } from "./begin-saved-move.ts";
import type { MoveRow } from "./move-store.ts";
import {
  countOthersLeaving,
  insertSavedMove,
  placeOfSnapshot,
  type MovableSaved,
} from "./saved-move-store.ts";

const FIRST_LOOK_MS = 50;
const LONGEST_LOOK_MS = 500;
/** Memory and disk of the largest VM between slow machines; the request waits. */
const WAIT_MAX_MS = 5 * 60_000;

/** Of one organization from one host: a move takes its disks and its network, which are others' as well. */
const AT_ONCE = 2;

interface Carried extends MovableSaved {
  readonly org_id: string;
}

/** To a host that has this much room, and gets its template first where it lacks that. False where there is none that could run it, or where it did not
 *  get there. Throws `no_capacity` where as many are on their way as may be, and `template_not_ready`. */
export async function carrySnapshot(context: Context, snapshot: Carried, room: Size): Promise<boolean> {
  const insert = (toHostId: string, ticket: string) => insertCarry(context, snapshot, { toHostId, ticket });
  const endMs = performance.now() + TEMPLATE_WAIT_MS;
  for (;;) {
    const begun = await beginSavedMove(context, snapshot, { compatibility: {}, room, insert });
    // What is on its way already may find room where it is going.
    if (begun.kind !== "waits") return hasLeft(context, snapshot);
    const { template } = begun;
    if (template === undefined || !(await isBrought(context, template, endMs))) return false;
  }
}

/** To this host. Throws `host_unavailable` where it does not get there, and `no_capacity` where as many are on their way as may be. */
export async function carrySnapshotTo(context: Context, snapshot: Carried, toHostId: string): Promise<void> {
  const ticket = randomBytes(32).toString("hex");
  await insertCarry(context, snapshot, { toHostId, ticket });
  await hasLeft(context, snapshot);
  if ((await placeOfSnapshot(context.db, snapshot.id))?.host_id === toHostId) return;
  throw new SkerryError(
    "host_unavailable",
    "The files of the snapshot did not get to the host that needs them.",
    {
      remediation: "Try again later. The log of the control plane says what the move met.",
      context: { host_id: toHostId },
      retryAfterS: 10,
    },
  );
}

/** Those that ask at the same time count one after the other. */
async function insertCarry(
  { db }: Context,
  snapshot: Carried,
  target: { readonly toHostId: string; readonly ticket: string },
): Promise<MoveRow | undefined> {
  return db.transaction().execute(async (transaction) => {
    await lockOrganization(transaction, snapshot.org_id);
    await refuseTooMany(transaction, snapshot);
    return insertSavedMove(transaction, snapshot, target);
  });
}

async function refuseTooMany(transaction: Queries, snapshot: Carried): Promise<void> {
  if ((await countOthersLeaving(transaction, snapshot)) < AT_ONCE) return;
  throw new SkerryError(
    "no_capacity",
    `The snapshot has to go to another host, and ${AT_ONCE} snapshots of the organization are on their way from its host already.`,
    {
      remediation: "Try again when they have got there.",
      retryAfterS: 10,
      context: { host_id: snapshot.host_id },
    },
  );
}

/** Resolves when it is on another host, with true, or when nothing carries it any more. */
async function hasLeft(context: Context, { id, host_id }: MovableSaved): Promise<boolean> {
  context.wake("mover");
  const deadlineMs = performance.now() + WAIT_MAX_MS;
  for (let lookMs = FIRST_LOOK_MS; performance.now() < deadlineMs;) {
    const place = await placeOfSnapshot(context.db, id);
    if (place === undefined) return false;
    if (place.host_id !== host_id) return true;
    if (!place.is_leaving) return false;
    await sleep(lookMs);
    lookMs = Math.min(2 * lookMs, LONGEST_LOOK_MS);
  }
  return false;
}
