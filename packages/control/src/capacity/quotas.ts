// What an organization may hold at once. Counted in the transaction that adds to it, under the organization's lock, so that no number
// of replicas goes over it together.

import { rateClasses } from "@skerry/contract/access";
import { SkerryError } from "@skerry/contract/errors";
import type { Limits } from "@skerry/contract/limits-report";
import { quotaNames, vmQuotaNames, type QuotaName, type VmQuotaName } from "@skerry/contract/quotas";
import type { Queries } from "../db/database.ts";
import { limitsOf, lockOrganization } from "./limit-store.ts";
import { held, type Room } from "./capacity-store.ts";
import { countValidTokens } from "../organizations/token-store.ts";
import type { Caller } from "../auth/caller.ts";
import type { Context } from "../context.ts";

export type Amounts = Readonly<Record<VmQuotaName, number>>;

/** Throws `quota_exceeded` where the organization would hold too much with this. */
export function checkQuotas(
  context: Context,
  { held, exceptions }: Pick<Room, "held" | "exceptions">,
  wish: Partial<Amounts>,
): void {
  const limits = { ...context.limits.organization, ...exceptions };
  for (const quota of vmQuotaNames) {
    const [used, requested, limit] = [held[quota], wish[quota] ?? 0, limits[`quota_${quota}`]];
    if (requested > 0 && used + requested > limit) throw exceeded(quota, { used, requested, limit });
  }
}

/**
 * Throws `quota_exceeded` where the organization has as many valid tokens as it may. Holds the organization until the transaction ends,
 * in which the token must be written; ask before anything else is locked (`lockRoom`).
 */
export async function reserveToken(context: Context, transaction: Queries, orgId: string): Promise<void> {
  await lockOrganization(transaction, orgId);
  const limits = await limitsOf(transaction, orgId, context.limits.organization);
  const [used, limit] = [await countValidTokens(transaction, orgId), limits.quota_tokens];
  if (used + 1 > limit) throw exceeded("tokens", { used, requested: 1, limit });
}

/** The limits of the caller's organization, and what of them is taken. */
export async function limitsReport(context: Context, caller: Caller): Promise<Limits> {
  const limits = await limitsOf(context.db, caller.orgId, context.limits.organization);
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

const nouns: Readonly<Record<QuotaName, string>> = {
  sandboxes: "sandboxes",
  machines: "machines",
  vcpus: "vCPUs",
  memory_mib: "MiB of memory",
  disk_gib: "GiB of disk",
  tokens: "valid tokens",
};

function exceeded(
  quota: QuotaName,
  { used, requested, limit }: { readonly used: number; readonly requested: number; readonly limit: number },
): SkerryError {
  return new SkerryError(
    "quota_exceeded",
    `The organization has ${used} of ${limit} ${nouns[quota]}, and this would take ${requested} more.`,
    {
      remediation: `${quota === "tokens" ? "Revoke tokens that" : "Destroy what"} you no longer need, or ask the operator for more. \`GET /v1/limits\` shows all quotas.`,
      context: { quota, used, requested, limit },
    },
  );
}

function fromNames<Name extends string, Value>(
  names: readonly Name[],
  valueOf: (name: Name) => Value,
): Record<Name, Value> {
  // Object.fromEntries forgets which names it was given.
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Name, Value>;
}
