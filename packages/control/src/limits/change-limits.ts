// An operator's exceptions for one organization. On the machine of the control plane `NAME=VALUE` sets one, and `NAME=default` takes it back.

import { SkerryError } from "@skerry/contract/errors";
import { isLimitName, LIMIT_MAX, limitNames, type OrganizationLimits } from "@skerry/contract/limits/quotas";
import type { Database } from "../db/database.ts";
import { exceptionsOf, setLimits, type LimitChange } from "./organization-limits.ts";

/** Returns all exceptions of the organization as they are afterwards. */
export async function changeLimits(
  db: Database,
  orgId: string,
  changes: readonly string[],
): Promise<Partial<OrganizationLimits>> {
  if (!(await setLimits(db, orgId, changes.map(readChange)))) {
    throw new SkerryError("organization_not_found", `There is no organization "${orgId}".`);
  }
  return exceptionsOf(db, orgId);
}

function readChange(text: string): LimitChange {
  const [, name = "", value = ""] = /^([a-z_]+)=(\d{1,10}|default)$/.exec(text) ?? [];
  if (!isLimitName(name) || Number(value) > LIMIT_MAX) {
    throw new SkerryError(
      "bad_request",
      `"${text}" is not a limit. Write NAME=NUMBER or NAME=default, with one of these names: ${limitNames.join(", ")}.`,
    );
  }
  return [name, value === "default" ? null : Number(value)];
}
