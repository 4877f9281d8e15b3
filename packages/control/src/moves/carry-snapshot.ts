// A snapshot goes where something is to begin from it. It moves and is not copied: it has one place, which its row names, so what counts for quotas, what
// is deleted and what a drain carries stays one thing; and where its host is full, the next ones to begin would find no room there either.

import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { Size } from "@skerry/contract/sizes";
import type { Context } from "../context.ts";
import { beginSavedMove } from "./begin-saved-move.ts";
import { insertSavedMove, placeOfSnapshot, type MovableSaved } from "./saved-move-store.ts";

const FIRST_LOOK_MS = 50;
const LONGEST_LOOK_MS = 500;
/** Memory and disk of the largest VM between slow machines; the request waits. */
const WAIT_MAX_MS = 5 * 60_000;

/** To a host that has this much room. False where there is none that could run it, or where it did not get there. */
export async function carrySnapshot(context: Context, snapshot: MovableSaved, room: Size): Promise<boolean> {
  const begun = await beginSavedMove(context, snapshot, { compatibility: {}, room });
  // What is on its way already may find room where it is going.
  return begun.kind === "waits" ? false : hasLeft(context, snapshot);
}

/** To this host. Throws `host_unavailable` where it does not get there. */
export async function carrySnapshotTo(
  context: Context,
  snapshot: MovableSaved,
  toHostId: string,
): Promise<void> {
  const ticket = randomBytes(32).toString("hex");
  await insertSavedMove(context.db, snapshot, { toHostId, ticket });
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
