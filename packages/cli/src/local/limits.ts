// An operator's exceptions for one organization, set on the machine of the control plane, where no token is needed.

import { controlCommand } from "./servers/control-command.ts";
import type { Layout } from "./system/layout.ts";

/** All exceptions of the organization as they are afterwards. A change is `NAME=NUMBER` or `NAME=default`. */
export function changeLimits(layout: Layout, orgId: string, changes: readonly string[]): Promise<unknown> {
  return controlCommand(layout, ["limits", "--org", orgId, ...changes], { failure: "limits_not_changed" });
}
