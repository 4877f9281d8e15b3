// A sandbox that nothing has used for as long as it says is paused. Its host looks once more when its guest stands
// still: a call that has come meanwhile is carried out, and the sandbox goes on; one that comes later finds it paused,
// and resumes it.

import { formatDuration } from "@skerry/contract/durations";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Context } from "../context.ts";
import { finishPausing } from "./pause-sandbox.ts";
import type { PausedWhenIdle } from "./pause-store.ts";
import { transitionSandbox } from "./sandbox-store.ts";

export async function pauseIdleSandbox(
  context: Context,
  row: PausedWhenIdle,
  { service, stop }: { readonly service: string; readonly stop: AbortSignal },
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
