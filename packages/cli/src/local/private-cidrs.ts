// Private networks that an organization may reach. They are granted past the API, so that no token can open the operator's networks.

import type { Output } from "../output/output.ts";
import { controlCommand } from "./servers/control-command.ts";
import type { Layout } from "./system/layout.ts";

interface Granted {
  readonly organization_id: string;
  readonly name: string;
  readonly allowed_private_cidrs: readonly string[];
}

/** Those of one organization, or of all that have any. */
export type Grants = Pick<Granted, "allowed_private_cidrs"> | readonly Granted[];

/** More than control gives a run of the service that tells hosts. */
const TOLD_WITHIN_MS = 150_000;

/** The grants of the organization as they are afterwards, or without an organization those of all. */
export function changePrivateCidrs(
  layout: Layout,
  orgId: string | undefined,
  cidrs: readonly string[],
): Promise<Grants> {
  const named = orgId === undefined ? [] : [orgId, ...cidrs];
  // Control is of this program's own version, and prints nothing else.
  return controlCommand(layout, ["private-cidrs", ...named], {
    failure: "private_cidrs_not_changed",
    deadlineMs: TOLD_WITHIN_MS,
  }) as Promise<Grants>;
}

export function showGrants(output: Output, grants: Grants): Promise<void> {
  if ("allowed_private_cidrs" in grants) {
    const { allowed_private_cidrs: cidrs } = grants;
    return cidrs.length === 0
      ? output.note("It is granted no private network.")
      : output.fields([["granted", cidrs.join(" ")]]);
  }
  if (grants.length === 0) return output.note("No organization is granted a private network.");
  return output.table(
    ["ORGANIZATION", "NAME", "GRANTED"],
    grants.map(({ organization_id, name, allowed_private_cidrs }) => [
      organization_id,
      name,
      allowed_private_cidrs.join(" "),
    ]),
    { prose: [2] },
  );
}
