// Pauses persistent sandboxes that nothing has used for as long as they say. Their hosts know that, because every call into a guest passes them. The
// host looks once more when its guest stands still: a call that has come meanwhile is carried out, and the sandbox goes on; one that comes later finds
// it paused, and resumes it.

import { formatDuration } from "@skerry/contract/durations";
import { recordOwnActs } from "../audit/audit-log.ts";
import { reportOf, type BackgroundService } from "../background/background-service.ts";
import type { Context } from "../context.ts";
import { finishPausing } from "./pause-sandbox.ts";
import { pausedWhenIdle, type PausedWhenIdle } from "./pause-store.ts";
import { transitionSandbox } from "./sandbox-store.ts";

const SERVICE = "idle-pauser";
/** A host writes the memory of each to its disk. */
const PAUSES = 4;

export function idlePauser(context: Context, everyMs: number): BackgroundService {
  return {
    name: SERVICE,
    everyMs,
    async activate(stop) {
      const rows = await pausedWhenIdle(context.db);
      const byAddress = Map.groupBy(rows, ({ address }) => address);
      const looks = await Promise.allSettled(
        [...byAddress].map(([address, ofHost]) => idleOf(context, { address, rows: ofHost }, stop)),
      );
      const idle = looks.flatMap((look) => (look.status === "fulfilled" ? look.value : []));
      // Settled, not all: no host call may outlive the activation that made it.
      const pauses = await Promise.allSettled(
        idle.slice(0, PAUSES).map((row) => pauseIdle(context, row, stop)),
      );
      const failedLooks = looks.filter(({ status }) => status === "rejected").length;
      const report = reportOf(pauses, { examined: rows.length, more: idle.length > PAUSES });
      return { ...report, failed: report.failed + failedLooks };
    },
  };
}

interface OnHost {
  readonly address: string;
  readonly rows: readonly PausedWhenIdle[];
}

async function idleOf(
  { hosts }: Context,
  { address, rows }: OnHost,
  stop: AbortSignal,
): Promise<PausedWhenIdle[]> {
  const unused = await hosts.client(address).snapshots.unused(stop);
  const unusedMs = new Map(unused.map((vm) => [`${vm.id} ${vm.execution_id}`, vm.unused_ms]));
  return rows.filter(
    ({ id, execution_id, pause_after_idle_ms }) =>
      (unusedMs.get(`${id} ${execution_id}`) ?? 0) >= pause_after_idle_ms,
  );
}

async function pauseIdle(context: Context, row: PausedWhenIdle, stop: AbortSignal): Promise<void> {
  const pausing = await context.db.transaction().execute(async (transaction) => {
    const marked = await transitionSandbox(transaction, row, "pausing", {
      next: {
        kind: "paused",
        reason: `nothing had used it for ${formatDuration(row.pause_after_idle_ms)}`,
      },
    });
    if (marked === undefined) return undefined;
    await recordOwnActs(transaction, { service: SERVICE, action: "sandbox.pause", resource: "sandbox" }, [
      marked,
    ]);
    return marked;
  });
  if (pausing === undefined) return;
  await finishPausing(context, pausing, { unusedMs: row.pause_after_idle_ms, stop });
}
