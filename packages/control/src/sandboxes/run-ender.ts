// Sees the end of commands whose output is kept. A sandbox that was made for one command, as by `skerry run
// --detach`, is destroyed, which reads the output. Where the sandbox lives on, as after `skerry run
// --keep-on-failure`, the output is stored. A command whose sandbox went without telling is ended.

import { SkerryError } from "@skerry/contract/errors";
import { recordOwnActs } from "../audit/audit-log.ts";
import { reportOf, type BackgroundService } from "../background/background-service.ts";
import type { Context } from "../context.ts";
import { endInVm, endOrphaned, findEnding } from "../vms/executions/kept-executions.ts";
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
      const ended = ends.filter((end) => end.status === "fulfilled" && end.value).length;
      const { failed } = reportOf(ends, { examined: running.length, more: false });
      return {
        examined: running.length + orphaned,
        changed: ended + orphaned,
        failed,
        more: orphaned === ORPHANS,
      };
    },
  };
}

/** Whether it was found to be over, and its sandbox destroyed where that ends with it. */
async function endIfOver(context: Context, one: Ending, stop: AbortSignal): Promise<boolean> {
  const end = await endOf(context, one, stop);
  if (end === undefined) return false;
  if (one.destroys_sandbox) return destroyAfter(context, one, stop);
  await endInVm(context, one, end);
  return true;
}

async function destroyAfter(context: Context, one: Ending, stop: AbortSignal): Promise<boolean> {
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

/** Undefined while it runs. */
async function endOf(
  { hosts }: Context,
  { id, sandbox_id, execution_id, address, is_settled }: Ending,
  stop: AbortSignal,
): Promise<"exited" | "forgotten" | undefined> {
  const ref = { vm: { id: sandbox_id, execution_id }, execution: id };
  try {
    const { exit } = await hosts.client(address).executions.get(ref, stop);
    return exit === null ? undefined : "exited";
  } catch (error) {
    // It ended so long ago that its VM has forgotten it, or it never began; a young one is on its way there.
    if (!(error instanceof SkerryError) || error.code !== "execution_not_found") throw error;
    return is_settled ? "forgotten" : undefined;
  }
}
