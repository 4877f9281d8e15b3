// `skerry admin-token`: another token of the operator's first user, where the saved one is lost.

import { CliError } from "../errors/errors.ts";
import { makeToken } from "./servers/token.ts";
import type { Layout } from "./system/layout.ts";
import { requireRoot } from "./system/require-root.ts";
import { findSystemUser } from "./system/system-user.ts";

export async function adminToken(layout: Layout, name: string): Promise<string> {
  requireRoot("admin-token");
  if (layout.joined !== undefined)
    throw new CliError("joined", `This machine is a host of ${layout.joined.control}.`, {
      remediation: "Run it on the machine of the control plane.",
    });
  const user = await findSystemUser();
  if (user === undefined)
    throw new CliError("not_running", "Skerry has never been started on this machine.", {
      remediation: "Start it with `skerry up`, which saves a token.",
    });
  return makeToken(layout, user, name);
}
