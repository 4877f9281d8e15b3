// Destroys sandboxes that were made for one command, as `skerry run --detach` asks for, when it has ended;
// and ends what is known of commands whose sandbox went without telling. The output is read by the
// destruction.

import { SkerryError } from "@skerry/contract/errors";
import { recordOwnActs } from "../audit/audit-log.ts";
import { reportOf, type BackgroundService } from "../background/background-service.ts";
import type { Context } from "../context.ts";
import { endOrphaned, findEnding } from "../vms/executions/kept-executions.ts";
import { finishDestroying } from "./destroy-sandbox.ts";
import { findSandbox, transitionSandbox } from "./sandbox-store.ts";

const SERVICE = "run-ender";
/** Bound of one activation. */
const LOOKS = 200;
const ORPHANS = 100;

type Ending = Awaited<ReturnType<typeof findEnding>>[number];

export function runEnder(context: Context, everyMs: number): BackgroundService {
  return {
    name: SERVICE,
    everyMs,
    async activate(stop) {
      const orphaned = await endOrphaned(context, ORPHANS);
      const running = await findEnding(context.db, LOOKS);
      // Settled, not all: no host call may outlive the activation that made it.
      const ends = await Promise.allSettled(running.map((one) => endIfOver(context, one, stop)));
      const destroyed = ends.filter((end) => end.status === "fulfilled" && end.value).length;
      const { failed } = reportOf(ends, { examined: running.length, more: false });
      return {
        examined: running.length + orphaned,
        changed: destroyed + orphaned,
        failed,
        more: orphaned === ORPHANS,
      };
    },
  };
}

/** Whether its sandbox is being destroyed. */
async function endIfOver(context: Context, one: Ending, stop: AbortSignal): Promise<boolean> {
  if (!(await isOver(context, one, stop))) return false;
  const row = await findSandbox(context.db, one.org_id, one.sandbox_id);
  if (row === undefined || row.status !== "running") return false;
  const marked = await context.db.transaction().execute(async (transaction) => {
    const reason = "its command has ended";
    const destroying = await transitionSandbox(transaction, row, "destroying", { reason });
    if (destroying === undefined) return undefined;
    const act = { service: SERVICE, action: "sandbox.destroy", resource: "sandbox" } as const;
    await recordOwnActs(transaction, act, [destroying]);
    return destroying;
  });
  if (marked === undefined) return false;
  await finishDestroying(context, marked, stop);
  return true;
}

async function isOver(
  { hosts }: Context,
  { id, sandbox_id, execution_id, address, is_settled }: Ending,
  stop: AbortSignal,
): Promise<boolean> {
  const ref = { vm: { id: sandbox_id, execution_id }, execution: id };
  try {
    return (await hosts.client(address).executions.get(ref, stop)).exit !== null;
  } catch (error) {
    // It ended so long ago that its VM has forgotten it, or it never began.
    if (is_settled && error instanceof SkerryError && error.code === "execution_not_found") return true;
    throw error;
  }
}
