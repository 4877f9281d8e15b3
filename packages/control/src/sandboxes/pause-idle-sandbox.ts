// A sandbox that nothing has used for as long as it says is paused. Its host looks once more when its guest
// stands still: a call that has come meanwhile is carried out, and the sandbox goes on; one that comes later
// finds it paused, and resumes it.

import { formatDuration } from "@skerry/contract/durations";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Context } from "../context.ts";
import type { EndsIdle, Idler } from "../vms/idler.ts";
import { finishPausing } from "./pause-sandbox.ts";
import { pausedWhenIdle, type PausedWhenIdle } from "./pause-store.ts";
import { transitionSandbox } from "./sandbox-store.ts";

/** Those that run and are paused when nothing uses them. */
export async function idleSandboxes(context: Context, how: EndsIdle): Promise<Idler[]> {
  const rows = await pausedWhenIdle(context.db);
  return rows.map((row) => ({
    ...row,
    idleMs: row.pause_after_idle_ms,
    end: () => pauseIdleSandbox(context, row, how),
  }));
}

async function pauseIdleSandbox(
  context: Context,
  row: PausedWhenIdle,
  { service, stop }: EndsIdle,
): Promise<void> {
  const pausing = await context.db.transaction().execute(async (transaction) => {
    const reason = `nothing had used it for ${formatDuration(row.pause_after_idle_ms)}`;
    const marked = await transitionSandbox(transaction, row, "pausing", { next: { kind: "paused", reason } });
    if (marked === undefined) return undefined;
    await recordOwnActs(transaction, { service, action: "sandbox.pause", resource: "sandbox" }, [marked]);
    return marked;
  });
  if (pausing === undefined) return;
  await finishPausing(context, pausing, { unusedMs: row.pause_after_idle_ms, stop });
}
