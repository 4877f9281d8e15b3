// The egress policy of a sandbox or a machine while it runs. The new policy is stored first; the answer comes after the host has confirmed it, and
// what it did not confirm the reconciler brings to it.

import type { Egress, EgressReport, EgressRequest } from "@skerry/contract/vms/egress";
import { SkerryError } from "@skerry/contract/errors";
import { egressSettings } from "../../organizations/egress-settings.ts";
import { confirmEgress, findUnappliedEgress, storeEgress } from "./egress-store.ts";
import type { Caller } from "../../caller.ts";
import { stateOf, type Context } from "../../context.ts";
import type { IfMatch } from "../../http/etag.ts";
import { readEgress } from "./egress-params.ts";
import { hostEgress } from "../../secrets/host-egress.ts";
import { checkInjected } from "./inject-params.ts";
import { retryOnConflict } from "../../db/retry-on-conflict.ts";
import { unlessOwned } from "../owned.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { clientOf, takesWork, vmError, type VmKind, type VmRow, type VmRef } from "../vm-kind.ts";

/** Changes of one policy reach its host in the order in which they were stored. */
const policyChangesOf = stateOf(() => new KeyedQueue(8));

const RETRY_AFTER_S = 5;

/** Replaces the whole policy. Resolves when it is in force; of one that is paused when it is stored, because that will be in force before it runs. */
export async function setEgress(
  context: Context,
  caller: Caller,
  params: VmRef & { readonly request: EgressRequest; readonly ifMatch?: IfMatch },
): Promise<EgressReport> {
  const egress = readEgress(params.request, "", await egressSettings(context.db, caller.orgId));
  const { kind, ifMatch } = params;
  const { id } = unlessOwned(kind, await kind.get(context, caller, params.id));
  await checkInjected(context, caller, params.request);
  const change = async () => {
    const row = await store(context, caller, { kind, id, egress, ifMatch });
    if (row.status === "paused") return reportOf(row, noTraffic);
    const traffic = await apply(context, row).catch((error: unknown) => {
      context.wake("vm-cleanup");
      throw unappliedError(error);
    });
    return reportOf(row, traffic);
  };
  return policyChangesOf(context)
    .run(id, change)
    .catch(async (error: unknown) => {
      throw await vmError(context, caller, params, error);
    });
}

function store(
  context: Context,
  caller: Caller,
  { kind, id, egress, ifMatch }: VmRef & { readonly egress: Egress; readonly ifMatch: IfMatch | undefined },
): Promise<VmRow> {
  return retryOnConflict(
    async () => {
      const row = await kind.settled(context, caller, id);
      if (ifMatch?.matches(row.egress_version) === false) throw mismatch(kind, row, ifMatch);
      if (row.status !== "paused" && !takesWork(row)) await kind.wake(context, caller, row);
      const version = ifMatch === undefined ? undefined : row.egress_version;
      return storeEgress(context.db, { orgId: caller.orgId, id, egress, version });
    },
    () => new SkerryError("internal", `The ${kind.noun} changed too often.`),
  );
}

function mismatch(kind: VmKind, { egress_version: version }: VmRow, { sent }: IfMatch): SkerryError {
  return new SkerryError(
    "version_mismatch",
    `The egress rules of the ${kind.noun} have been changed: they have the version ${version} now.`,
    {
      remediation: "Read the rules, make the change to them, and send it with the new ETag as `If-Match`.",
      context: { version, if_match: sent },
    },
  );
}

/** The stored policy, and what its host says of traffic; none where there is no microVM. */
export async function getEgress(context: Context, caller: Caller, params: VmRef): Promise<EgressReport> {
  const found = await params.kind.get(context, caller, params.id);
  if (found.status !== "running") return reportOf(found, noTraffic);
  // Also of one whose time is over: what it was denied is no work of its.
  const client = await clientOf(context, found);
  const traffic = await client.egress(found).catch(async (error: unknown) => {
    throw await vmError(context, caller, params, error);
  });
  // Rules and version of one row: the host may have been told of a later change, or not of this one yet.
  return reportOf(found, traffic);
}

/** Brings the stored policy to the host where it has not confirmed it. */
export async function reapplyEgress(
  context: Context,
  { kind, id }: { readonly kind: Pick<VmKind, "noun" | "table">; readonly id: string },
  stop: AbortSignal,
): Promise<void> {
  // A request is at it, and wakes the reconciler when it fails. Waiting for it would hold up every other one.
  const policyChanges = policyChangesOf(context);
  if (policyChanges.isBusy(id)) return;
  return policyChanges.run(id, async () => {
    // The request that stored it may have finished since.
    const row = await findUnappliedEgress(context.db, id);
    if (row === undefined) return;
    await apply(context, row, stop);
    context.log.info({ [`${kind.noun}_id`]: id }, "a stored egress policy has been brought to its host");
  });
}

async function apply(context: Context, row: VmRow, stop?: AbortSignal): Promise<Traffic> {
  const client = await clientOf(context, row);
  const policy = { egress: await hostEgress(context, row), version: row.egress_version };
  const report = await client.setEgress(row, policy, stop);
  if (!(await confirmEgress(context.db, row))) context.wake("vm-cleanup");
  return report;
}

/** The caller has to know that the change is not lost. */
function unappliedError(error: unknown): unknown {
  if (!(error instanceof SkerryError) || error.code !== "host_unavailable") return error;
  return new SkerryError("host_unavailable", "The egress rules are stored, but not yet in force.", {
    remediation: "They take effect when the host answers again; send them again to wait for it.",
    retryAfterS: RETRY_AFTER_S,
    cause: error,
  });
}

type Traffic = Pick<EgressReport, "counters" | "denied" | "injected">;

const noTraffic: Traffic = {
  counters: { bytes_out: 0, packets_out: 0, bytes_in: 0, packets_in: 0 },
  denied: [],
};

function reportOf({ egress, egress_version: version }: VmRow, traffic: Traffic): EgressReport {
  const { counters, denied, injected = [] } = traffic;
  return { ...egress, version, counters, denied, ...(egress.inject !== undefined && { injected }) };
}
