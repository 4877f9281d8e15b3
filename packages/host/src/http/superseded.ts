// Refuses a control plane that another copy of it has replaced.

import { GENERATION_HEADER, readGeneration } from "@skerry/contract/host-api/generation";
import { SkerryError } from "@skerry/contract/errors";
import type { ControlGeneration } from "../system/control-generation.ts";
import type { Identity } from "../config/identity.ts";
import { callerOf, isLocal } from "./callers.ts";
import type { HostServer } from "./conventions.ts";

/** Call it after `refuseStrangers`, before the routes are registered. On the socket of this machine it is the control plane beside this host
 *  that calls, or root. */
export function refuseSuperseded(
  server: HostServer,
  { generation, identity }: { readonly generation: ControlGeneration; readonly identity: Identity },
): void {
  server.addHook("onRequest", async (request) => {
    const { hostId } = identity;
    if (isLocal(request) || hostId === undefined || callerOf(request.raw)?.role !== "control") return;
    const claimed = readGeneration(request.headers[GENERATION_HEADER]);
    if (claimed === undefined) throw new SkerryError("bad_request", `${GENERATION_HEADER} is not a number.`);
    if (await generation.admit(hostId, claimed)) return;
    throw new SkerryError(
      "control_superseded",
      "This host obeys a control plane that was restored from a backup of this one.",
      {
        remediation:
          "Stop this control plane. To have the hosts obey it again: `skerry take-over` on its machine.",
      },
    );
  });
}
