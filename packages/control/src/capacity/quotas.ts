// What an organization may hold at once. Counted in the transaction that adds to it, under the organization's lock, so that no number
// of replicas goes over it together.

import { rateClasses } from "@skerry/contract/limits/rate-classes";
import type { Limits } from "@skerry/contract/limits/limits-report";
import { quotaNames, vmQuotaNames, type VmQuotaName } from "@skerry/contract/limits/quotas";
import { findOrganizationLimits } from "../limits/organization-limits.ts";
import { quotaExceeded } from "../limits/quota-exceeded.ts";
import { held, type LockedCapacity } from "./capacity-store.ts";
import { countValidTokens } from "../organizations/reserve-token.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";

export type Amounts = Readonly<Record<VmQuotaName, number>>;

/** Throws `quota_exceeded` where the organization would hold too much with this. */
export function checkQuotas(
  context: Context,
  { held, exceptions }: Pick<LockedCapacity, "held" | "exceptions">,
  amounts: Partial<Amounts>,
): void {
  const limits = { ...context.limits.organization, ...exceptions };
  for (const quota of vmQuotaNames) {
    const [used, requested, limit] = [held[quota], amounts[quota] ?? 0, limits[`quota_${quota}`]];
    if (requested > 0 && used + requested > limit) throw quotaExceeded(quota, { used, requested, limit });
  }
}

/** The limits of the caller's organization, and what of them is taken. */
export async function limitsReport(context: Context, caller: Caller): Promise<Limits> {
  const limits = await findOrganizationLimits(context.db, caller.orgId, context.limits.organization);
  const amounts = {
    ...(await held(context.db, caller.orgId)),
    tokens: await countValidTokens(context.db, caller.orgId),
  };
  return {
    rates: fromNames(rateClasses, (name) => ({
      per_minute: limits[`rate_${name}_per_minute`],
      burst: limits[`rate_${name}_burst`],
    })),
    quotas: fromNames(quotaNames, (name) => ({ limit: limits[`quota_${name}`], used: amounts[name] })),
  };
}

function fromNames<Name extends string, Value>(
  names: readonly Name[],
  valueOf: (name: Name) => Value,
): Record<Name, Value> {
  // Object.fromEntries forgets which names it was given.
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Name, Value>;
}
