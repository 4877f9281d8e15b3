// An operator's exceptions for one organization: `NAME=VALUE` sets one, `NAME=default` takes it back.

import {
  isLimitName,
  LIMIT_MAX,
  limitNames,
  type LimitName,
  type OrganizationLimits,
} from "@skerry/contract/quotas";
import type { Database } from "../store/database.ts";
import { limitsOf, setLimits } from "../store/limits.ts";

/** Returns all limits of the organization as they are afterwards. The error's message is for a terminal. */
export async function changeLimits(
  db: Database,
  { orgId, changes, defaults }: { orgId: string; changes: readonly string[]; defaults: OrganizationLimits },
): Promise<OrganizationLimits> {
  if (!(await setLimits(db, orgId, changes.map(readChange)))) {
    throw new Error(`There is no organization "${orgId}".`);
  }
  return limitsOf(db, orgId, defaults);
}

function readChange(text: string): readonly [name: LimitName, value: number | null] {
  const [, name = "", value = ""] = /^([a-z_]+)=(\d{1,10}|default)$/.exec(text) ?? [];
  if (!isLimitName(name) || Number(value) > LIMIT_MAX) {
    throw new Error(
      `"${text}" is not a limit. Write NAME=NUMBER or NAME=default, with one of these names: ${limitNames.join(", ")}.`,
    );
  }
  return [name, value === "default" ? null : Number(value)];
}
