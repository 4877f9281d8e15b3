// How the ports of a sandbox are served that E2B's clients make.

import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { PortOptions } from "../db/tables/sandbox-tables.ts";
import { sandboxVms } from "../sandboxes/sandbox-vms.ts";
import { areAllPortsPublic, requireOpening } from "../vms/ports/ports.ts";
import type { NewSandbox } from "./sandbox-bodies.ts";

/** None where the request asks for nothing and no port has a name. */
export function portOptionsOf(
  { sandboxDomain }: Pick<Context, "sandboxDomain">,
  network: NewSandbox["network"] = {},
): PortOptions {
  const { allowPublicTraffic, httpsPorts: https, maskRequestHost: host } = network;
  const asked = [https, host].some((one) => one !== undefined) || allowPublicTraffic === false;
  if (sandboxDomain === undefined && !asked) return {};
  return { e2b: true, ...(https !== undefined && { https }), ...(host !== undefined && { host }) };
}

/** Whether all ports of a new sandbox are public. With E2B they are, unless the client says otherwise; without a sandbox domain no port has a name
 *  that clients know. A key that may not open ports leaves them closed, and is refused where it asks for that by name. */
export function opensPorts(
  { sandboxDomain }: Pick<Context, "sandboxDomain">,
  caller: Caller,
  { allowPublicTraffic: asked }: NonNullable<NewSandbox["network"]> = {},
): boolean {
  if (asked === true) requireOpening(caller, sandboxVms);
  return asked ?? (sandboxDomain !== undefined && mayOpenPorts(caller));
}

/** Whether the caller may open ports of sandboxes to others, and so have the token that opens all of one. */
export function mayOpenPorts({ scopes }: Pick<Caller, "scopes">): boolean {
  return scopes.has("sandboxes:execute");
}

/** Whether its ports need its traffic access token; of the row of a sandbox. Where ports have no names, clients reach them by `E2B_SANDBOX_URL` alone. */
export function isClosed(
  { sandboxDomain }: Pick<Context, "sandboxDomain">,
  row: { readonly port_options: PortOptions; readonly public_ports: readonly number[] },
): boolean {
  return (sandboxDomain === undefined || row.port_options.e2b === true) && !areAllPortsPublic(row);
}
