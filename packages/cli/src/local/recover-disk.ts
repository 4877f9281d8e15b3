// `skerry host recover-disk`: on the machine of the host, for a machine whose record is damaged.

import type { Vm } from "@skerry/contract/host-api/vm";
import { isId } from "@skerry/contract/ids";
import { CliError, exitCodes } from "../errors/errors.ts";
import { commandHost } from "./system/ask-host.ts";
import type { Layout } from "./system/layout.ts";
import { requireRoot } from "./system/require-root.ts";

/** Throws what the host refuses with: where nothing says what the disk stands on, it says what to restore. */
export function recoverDisk(layout: Layout, id: string): Promise<Vm> {
  if (!isId("machine", id))
    throw new CliError("invalid_input", `"${id}" is no id of a machine.`, {
      remediation: "Give the whole id, mch_…: `skerry doctor` lists the machines that need it.",
      exitCode: exitCodes.usage,
    });
  requireRoot("host recover-disk");
  return commandHost<Vm>(layout, { method: "POST", path: `/vms/${encodeURIComponent(id)}/recover` });
}
