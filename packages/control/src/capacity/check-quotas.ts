// What an organization may hold at once. Counted in the transaction that adds to it, under the organization's lock, so that no number
// of replicas goes over it together.

import { vmQuotaNames, type VmQuotaName } from "@skerry/contract/limits/quotas";
import { quotaExceeded } from "../limits/quota-exceeded.ts";
import type { LockedCapacity } from "./capacity-rows.ts";
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
