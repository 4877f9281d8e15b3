// An operator's exceptions for one organization, set on the machine of the control plane, where no token is needed.

import { controlCommand } from "./servers/control-command.ts";
import type { Layout } from "./system/layout.ts";

/** All exceptions of the organization as they are afterwards. A change is `NAME=NUMBER` or `NAME=default`. */
export function changeLimits(
  layout: Layout,
  orgId: string,
  changes: readonly string[],
): Promise<Readonly<Record<string, number>>> {
  const args = ["limits", "--org", orgId, ...changes];
  // Control is of this program's own version, and prints nothing else.
  return controlCommand(layout, args, { failure: "limits_not_changed" }) as Promise<
    Readonly<Record<string, number>>
  >;
}
