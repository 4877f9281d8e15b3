// Forgets what is only kept for a while: Idempotency-Keys, the rate buckets of unused tokens, join tokens, login codes and sessions, logs and measurements of long ago, archives that no build of E2B's clients has come for, and who could sign URLs of sandboxes that have ended. None counts any more
// even before this has come by: an old key is as good as unused, an old bucket is full, an old join token has expired. Of what an organization has
// behind it, such as sandboxes that are destroyed, it keeps the newest. And it erases the environments of VMs that were destroyed by a version that
// did not.

import { forgetOldEvents, OLD_EVENTS_MAX } from "../audit/audit-sweeper.ts";
import type { Context } from "../context.ts";
import { sweepBuildLogs, sweepBuilds } from "../builds/builder.ts";
import { isDatabaseOutage } from "../db/database.ts";
import { LeaseLostError } from "../db/fence.ts";
import { forgetBeyond, type Kept } from "../db/keep-newest.ts";
import { sweepAccesses } from "../e2b/sweep-accesses.ts";
import { sweepAskedBuilds } from "../e2b/sweep-asked-builds.ts";
import { sweepArchives } from "../e2b/sweep-archives.ts";
import { sweepIdempotencyKeys } from "../idempotency/create-once.ts";
import { keptAnswers } from "../idempotency/kept-answers.ts";
import { sweepJoinTokens } from "../joining/join-host.ts";
import { endedMachines } from "../machines/ended-machines.ts";
import { sweepMachineRestarts } from "../machines/machine-restarts.ts";
import { sweepMoves } from "../moves/mover.ts";
import { endedTokens } from "../organizations/ended-tokens.ts";
import { everyOrganization } from "../organizations/organizations.ts";
import { sweepSessions } from "../organizations/login-tokens.ts";
import { sweepUsers } from "../organizations/sweep-users.ts";
import { sweepRateBuckets } from "../rate-limits/rate-limiter.ts";
import { endedSandboxes, expireFailed } from "../sandboxes/ended-sandboxes.ts";
import { sweepLoginCodes } from "../logins/login-codes.ts";
import { endedSnapshots } from "../snapshots/ended-snapshots.ts";
import { deletedTemplates } from "../templates/deleted-templates.ts";
import { sweepUsage } from "../usage/usage.ts";
import { endedExecutions } from "../vms/executions/kept-executions.ts";
import { sweepVmEvents } from "../vms/events/events.ts";
import { eraseLeftEnv } from "../vms/env.ts";
import type { BackgroundService } from "../background/background-service.ts";

const BATCH = 1_000;

type Sweep = (db: Context["db"], limit: number) => Promise<number>;

/** Each removes at most so many rows, and resolves with how many they were. */
const SWEEPS: Readonly<Record<string, Sweep>> = {
  sweepIdempotencyKeys,
  sweepRateBuckets,
  sweepJoinTokens,
  sweepLoginCodes,
  sweepSessions,
  sweepMoves,
  eraseLeftEnv,
  sweepVmEvents,
  sweepMachineRestarts,
  sweepBuildLogs,
  sweepArchives,
  sweepAccesses,
  sweepUsage,
  sweepUsers,
};

/** Rules by which the newest of an organization is kept. */
const KEPT: Readonly<Record<string, Kept>> = {
  ...{ endedSandboxes, endedMachines, endedSnapshots, endedExecutions },
  ...{ deletedTemplates, endedTokens, keptAnswers },
};

/** The same of one organization: however much all of them have, no statement takes long. */
function sweepsOf(orgId: string): Readonly<Record<string, Sweep>> {
  const kept = Object.entries(KEPT).map(([name, rule]): [string, Sweep] => [
    name,
    (db, limit) => forgetBeyond(db, rule, { orgId, limit }),
  ]);
  return {
    ...Object.fromEntries(kept),
    sweepBuilds: (db, limit) => sweepBuilds(db, orgId, limit),
    sweepAskedBuilds: (db, limit) => sweepAskedBuilds(db, orgId, limit),
    expireFailed: (db, limit) => expireFailed(db, orgId, limit),
    forgetOldEvents: (db, limit) => forgetOldEvents(db, { orgId, kept: OLD_EVENTS_MAX, limit }),
  };
}

export function expiredRowsSweeper(context: Context, everyMs: number): BackgroundService {
  return {
    name: "sweeper",
    everyMs,
    async activate(stop) {
      const swept: (number | undefined)[] = [];
      for (const orgId of await everyOrganization(context.db))
        swept.push(...(await sweepAll(context, sweepsOf(orgId), stop)));
      // Afterwards, because a user is forgotten with the last of their tokens.
      swept.push(...(await sweepAll(context, SWEEPS, stop)));
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
  sweeps: Readonly<Record<string, Sweep>>,
  stop: AbortSignal,
): Promise<(number | undefined)[]> {
  const swept: (number | undefined)[] = [];
  for (const [sweep, removeSome] of Object.entries(sweeps)) {
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
