// Private networks that an organization may reach. They are granted past the API, so that no token can open the operator's networks.

import { controlCommand } from "./servers/control-command.ts";
import type { Layout } from "./system/layout.ts";

/** More than control gives a run of the service that tells hosts. */
const TOLD_WITHIN_MS = 150_000;

/** The grants of the organization as they are afterwards, or without an organization those of all. */
export function changePrivateCidrs(
  layout: Layout,
  orgId: string | undefined,
  cidrs: readonly string[],
): Promise<unknown> {
  const named = orgId === undefined ? [] : [orgId, ...cidrs];
  return controlCommand(layout, ["private-cidrs", ...named], {
    failure: "private_cidrs_not_changed",
    deadlineMs: TOLD_WITHIN_MS,
  });
}
