// Forgets what is only kept for a while: Idempotency-Keys, the rate buckets of unused tokens, join tokens, login codes and sessions, logs and measurements of long ago, archives that no build of E2B's clients has come for, and who could sign URLs of sandboxes that have ended. None counts any more
// even before this has come by: an old key is as good as unused, an old bucket is full, an old join token has expired. Of what an organization has
// behind it, such as sandboxes that are destroyed, it keeps the newest. And it erases the environments of VMs that were destroyed by a version that
// did not.

import type { BackgroundService } from "../background/background-service.ts";
import type { Context } from "../context.ts";
import { isDatabaseOutage } from "../db/database.ts";
import { LeaseLostError } from "../db/fence.ts";
import { forgetBeyond } from "../db/keep-newest.ts";
import { everyOrganization } from "../organizations/every-organization.ts";
import type { Room, Sweep } from "../context.ts";

const BATCH = 1_000;

type Sweeps = readonly (readonly [name: string, sweep: Sweep])[];

/** Sweeps of one organization: however much all of them have, no statement takes long. */
function sweepsOf(rooms: readonly Room[], orgId: string): Sweeps {
  return rooms.flatMap(({ kept = {}, organizationSweeps = {} }) => [
    ...Object.entries(kept).map(
      ([name, rule]) => [name, (db, limit) => forgetBeyond(db, rule, { orgId, limit })] as Sweeps[number],
    ),
    ...Object.entries(organizationSweeps).map(
      ([name, sweep]) => [name, (db, limit) => sweep(db, orgId, limit)] as Sweeps[number],
    ),
  ]);
}

export function expiredRowsSweeper(context: Context, everyMs: number): BackgroundService {
  return {
    name: "sweeper",
    everyMs,
    async activate(stop) {
      const swept: (number | undefined)[] = [];
      for (const orgId of await everyOrganization(context.db))
        swept.push(...(await sweepAll(context, sweepsOf(context.rooms, orgId), stop)));
      // Afterwards, because a user is forgotten with the last of their tokens.
      const sweeps = context.rooms.flatMap((room) => Object.entries(room.sweeps ?? {}));
      swept.push(...(await sweepAll(context, sweeps, stop)));
      const counts = swept.filter((count) => count !== undefined);
      const changed = counts.reduce((sum, count) => sum + count, 0);
      const failed = swept.length - counts.length;
      return { examined: changed, changed, failed, more: counts.includes(BATCH) };
    },
  };
}

/** How many rows each has removed; undefined for one that failed: the rows of the other tables go all the same. */
async function sweepAll(
  { db, log }: Context,
  sweeps: Sweeps,
  stop: AbortSignal,
): Promise<(number | undefined)[]> {
  const swept: (number | undefined)[] = [];
  for (const [sweep, removeSome] of sweeps) {
    stop.throwIfAborted();
    try {
      swept.push(await removeSome(db, BATCH));
    } catch (error) {
      if (stop.aborted || error instanceof LeaseLostError || isDatabaseOutage(error)) throw error;
      swept.push(undefined);
      log.warn({ err: error, sweep }, "rows that have expired could not be removed");
    }
  }
  return swept;
}
