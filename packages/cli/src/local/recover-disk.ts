// `skerry host recover-disk`: on the machine of the host, for a machine whose record is damaged.

import type { Vm } from "@skerry/contract/host-api/vm";
import { commandHost } from "./system/ask-host.ts";
import type { Layout } from "./system/layout.ts";
import { requireRoot } from "./system/require-root.ts";

/** Throws what the host refuses with: where nothing says what the disk stands on, it says what to restore. */
export function recoverDisk(layout: Layout, id: string): Promise<Vm> {
  requireRoot("host recover-disk");
  return commandHost<Vm>(layout, { method: "POST", path: `/vms/${encodeURIComponent(id)}/recover` });
}
