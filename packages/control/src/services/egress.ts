// The egress policy of a sandbox while it runs. The wish is stored first; the answer comes after the host has confirmed it, and
// what it did not confirm the reconciler brings to it.

import type { Egress, EgressReport, EgressRequest } from "@skerry/contract/egress";
import { SkerryError } from "@skerry/contract/errors";
import { hostAddress } from "../store/hosts.ts";
import { egressDefault } from "../store/organizations.ts";
import { confirmEgress, findUnappliedEgress, storeEgress } from "../store/sandbox-egress.ts";
import type { SandboxRow } from "../store/sandboxes.ts";
import type { Caller, Context } from "./context.ts";
import { readEgress } from "./egress-policy.ts";
import { getSandbox, notRunning, runningSandbox, sandboxError } from "./sandboxes.ts";
import { Turns } from "./turns.ts";

/** Changes of one sandbox reach its host in the order in which they were stored. */
const turns = new Turns(8);

const RETRY_AFTER_S = 5;

/** Replaces the whole policy. Resolves when it is in force. */
export async function setEgress(
  context: Context,
  caller: Caller,
  wish: { readonly id: string; readonly request: EgressRequest },
): Promise<EgressReport> {
  const egress = readEgress(wish.request, "", await egressDefault(context.db, caller.orgId));
  const { id } = await getSandbox(context, caller, wish.id);
  return turns.take(id, async () => {
    const row = await storeEgress(context.db, { orgId: caller.orgId, id, egress });
    if (row === undefined) throw notRunning(await getSandbox(context, caller, id));
    return apply(context, row).catch((error: unknown) => {
      context.ring("vm-cleanup");
      throw unappliedError(sandboxError(context, error));
    });
  });
}

/** What the host says of it; where there is no microVM, the stored policy and no traffic. */
export async function getEgress(context: Context, caller: Caller, id: string): Promise<EgressReport> {
  const found = await getSandbox(context, caller, id);
  if (found.status !== "running") return reportWithoutVm(found.egress);
  const { row, client } = await runningSandbox(context, caller, id);
  return client.egress(row).catch((error: unknown) => {
    throw sandboxError(context, error);
  });
}

/** Brings the stored policy to the host where it has not confirmed it. */
export async function reapplyEgress(context: Context, id: string, stop: AbortSignal): Promise<void> {
  // A request is at it, and rings when it fails. Waiting for it would hold up every other sandbox.
  if (turns.isBusy(id)) return;
  return turns.take(id, async () => {
    // The request that stored it may have finished since.
    const row = await findUnappliedEgress(context.db, id);
    if (row === undefined) return;
    await apply(context, row, stop);
    context.log.info({ sandbox_id: id }, "a stored egress policy has been brought to its host");
  });
}

async function apply(context: Context, row: SandboxRow, stop?: AbortSignal): Promise<EgressReport> {
  const address = await hostAddress(context.db, row.host_id);
  if (address === undefined) throw new Error(`host ${row.host_id} of ${row.id} does not exist`);
  const policy = { egress: row.egress, version: row.egress_version };
  const report = await context.hosts.client(address).setEgress(row, policy, stop);
  if (!(await confirmEgress(context.db, row))) context.ring("vm-cleanup");
  return report;
}

/** The caller has to know that the change is not lost. */
function unappliedError(error: unknown): unknown {
  if (!(error instanceof SkerryError) || error.code !== "host_unavailable") return error;
  return new SkerryError("host_unavailable", "The egress rules are stored, but not yet in force.", {
    remediation:
      "They take effect when the host of the sandbox answers again; send them again to wait for it.",
    retryAfterS: RETRY_AFTER_S,
    cause: error,
  });
}

function reportWithoutVm(egress: Egress): EgressReport {
  return {
    ...egress,
    counters: { bytes_out: 0, packets_out: 0, bytes_in: 0, packets_in: 0 },
    denied: [],
  };
}
