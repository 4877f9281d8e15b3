// Claims on rows of VMs and snapshots: whoever works on one extends its claim for as long as that takes.

import { setInterval } from "node:timers";
import { sql } from "kysely";
import { CLAIM_MS, claimedAnew } from "../db/claims.ts";
import type { Database } from "../db/database.ts";
import type { Context } from "../context.ts";

interface Claimed {
  readonly id: string;
  readonly execution_id: string;
}

const WORKED_ON: readonly string[] = ["creating", "pausing", "resuming", "starting", "stopping"];

/** Whether a replica works on a VM in this status, and says so by extending a claim. */
export function isWorkedOn(status: string): boolean {
  return WORKED_ON.includes(status);
}

/** Extends the claim on a row until it is disposed of. */
export function keepClaim(context: Context, extend: () => Promise<void>): Disposable {
  const timer = setInterval(() => {
    extend().catch((error: unknown) => context.log.warn({ err: error }, "could not extend a claim"));
  }, CLAIM_MS / 3);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** The same for this incarnation of a VM. */
export function keepVmClaim(context: Context, { id, execution_id }: Claimed): Disposable {
  return keepClaim(context, async () => {
    await sql`
      update vms set claimed_until = ${claimedAnew}
      where id = ${id} and execution_id = ${execution_id} and status in (${sql.join(WORKED_ON)})`.execute(
      context.db,
    );
  });
}

/** Says that all VMs that are made of this internal snapshot are still being made. */
export async function extendForkClaims(db: Database, snapshotId: string): Promise<void> {
  await sql`
    update vms set claimed_until = ${claimedAnew}
    where forked_by = ${snapshotId} and status = 'creating'`.execute(db);
}

/** The end of the work is not known: VM cleanup finds it out, and need not wait for the claim to lapse. */
export async function dropClaim(
  db: Database,
  { id, version }: { readonly id: string; readonly version: number },
): Promise<void> {
  await sql`update vms set claimed_until = null where id = ${id} and version = ${version}`.execute(db);
}
