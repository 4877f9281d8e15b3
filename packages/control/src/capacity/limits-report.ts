// What an organization is told of its limits, and the operator's exceptions for one.

import { rateClasses } from "@skerry/contract/limits/rate-classes";
import { SkerryError } from "@skerry/contract/errors";
import { isId } from "@skerry/contract/ids";
import type {
  Limits,
  LimitsChangeRequest,
  OrganizationLimitsReport,
} from "@skerry/contract/limits/limits-report";
import { limitNames, quotaNames } from "@skerry/contract/limits/quotas";
import type { Context } from "../context.ts";
import {
  exceptionsOf,
  isOrganization,
  findOrganizationLimits,
  setLimits,
  type LimitChange,
} from "../limits/organization-limits.ts";
import { countValidTokens } from "../organizations/token-quota.ts";
import { countApps } from "./app-quota.ts";
import { heldBuilds } from "./build-quota.ts";
import { heldSnapshots } from "./snapshot-quota.ts";
import { held } from "./capacity-rows.ts";

/** The limits of an organization, and what of them is taken. */
export async function limitsReport({ db, limits: defaults }: Context, orgId: string): Promise<Limits> {
  const limits = await findOrganizationLimits(db, orgId, defaults.organization);
  const amounts = {
    ...(await held(db, orgId)),
    ...(await heldSnapshots(db, orgId)),
    ...(await heldBuilds(db, orgId)),
    tokens: await countValidTokens(db, orgId),
    apps: await countApps(db, orgId),
  };
  return {
    rates: fromNames(rateClasses, (name) => ({
      per_minute: limits[`rate_${name}_per_minute`],
      burst: limits[`rate_${name}_burst`],
    })),
    quotas: fromNames(quotaNames, (name) => ({ limit: limits[`quota_${name}`], used: amounts[name] })),
  };
}

export async function organizationLimitsReport(
  context: Context,
  orgId: string,
): Promise<OrganizationLimitsReport> {
  if (!isId("organization", orgId) || !(await isOrganization(context.db, orgId))) throw notFound();
  const exceptions = await exceptionsOf(context.db, orgId);
  return { organization_id: orgId, ...(await limitsReport(context, orgId)), exceptions };
}

export async function changeOrganizationLimits(
  context: Context,
  orgId: string,
  request: LimitsChangeRequest,
): Promise<OrganizationLimitsReport> {
  const changes = limitNames.flatMap((name): LimitChange[] => {
    const value = request[name];
    return value === undefined ? [] : [[name, value]];
  });
  if (!isId("organization", orgId) || !(await setLimits(context.db, orgId, changes))) throw notFound();
  return organizationLimitsReport(context, orgId);
}

function notFound(): SkerryError {
  return new SkerryError("organization_not_found", "There is no such organization.");
}

function fromNames<Name extends string, Value>(
  names: readonly Name[],
  valueOf: (name: Name) => Value,
): Record<Name, Value> {
  // Object.fromEntries forgets which names it was given.
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Name, Value>;
}
