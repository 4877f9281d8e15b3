// Destroys sandboxes whose time is over, or pauses them where they are persistent, and destroys those that have been paused for too long. All are marked
// in one statement each; a host that does not answer delays only its own, which the reconciler finishes.

import type { AuditAction } from "@skerry/contract/audit/audit-actions";
import { recordOwnActs } from "../audit/audit-log.ts";
import { finishDestroying } from "./destroy-sandbox.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { finishPausing } from "./pause-sandbox.ts";
import { destroyLongPaused, pauseExpired } from "./pause-store.ts";
import { expireSandboxes, nextExpiryInMs } from "./sandbox-expiry-store.ts";
import type { SandboxRow } from "./sandbox-store.ts";
import { reportOf, type BackgroundService } from "../background/background-service.ts";

const SERVICE = "sandbox-reaper";
const BATCH = 32;
/** Between two turns, so that one takes all whose time ends in it. */
const TURN_MS = 500;
/** A host writes the memory of each to its disk. */
const PAUSES = 4;

/** `pausedKeptDays`: how long a sandbox may be paused. */
export function sandboxReaper(context: Context, everyMs: number, pausedKeptDays: number): BackgroundService {
  return {
    name: SERVICE,
    everyMs,
    async activate(stop) {
      const destroyed = [
        ...(await mark(context, "sandbox.expire", (db) => expireSandboxes(db, BATCH))),
        ...(await mark(context, "sandbox.expire", (db) => destroyLongPaused(db, pausedKeptDays, BATCH))),
      ];
      const pausing = await mark(context, "sandbox.pause", (db) => pauseExpired(db, PAUSES));
      // Settled, not all: no host call may outlive the activation that made it.
      const results = await Promise.allSettled([
        ...destroyed.map((row) => finishDestroying(context, row, stop)),
        ...pausing.map((row) => finishPausing(context, row, { stop })),
      ]);
      const report = reportOf(results, {
        examined: results.length,
        more: destroyed.length >= BATCH || pausing.length === PAUSES,
      });
      const nextMs = await nextExpiryInMs(context.db, everyMs);
      return nextMs === undefined ? report : { ...report, nextMs: Math.max(TURN_MS, nextMs) };
    },
  };
}

/** Writes what becomes of them, and into the audit log that it did so. */
function mark(
  context: Context,
  action: AuditAction,
  write: (db: Queries) => Promise<SandboxRow[]>,
): Promise<SandboxRow[]> {
  return context.db.transaction().execute(async (transaction) => {
    const rows = await write(transaction);
    await recordOwnActs(transaction, { service: SERVICE, action, resource: "sandbox" }, rows);
    return rows;
  });
}
