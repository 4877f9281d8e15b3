// Addresses at which the other machines of a cluster reach this host.

import { EDGE_INNER_PORT } from "@skerry/contract/apps/app-bounds";
import type { HostInfo } from "@skerry/contract/host-api/host-info";
import type { Settings } from "./settings.ts";

/** Door of the proxy of apps for requests of other hosts. */
export interface EdgeDoorConfig {
  /** ADDRESS:PORT to listen on. */
  readonly listen: string;
  /** ADDRESS:PORT at which other hosts reach it. */
  readonly address: string;
}

/** ADDRESS:PORT of the host API; undefined: other hosts do not reach it. */
export function reachedAt(settings: Settings): string | undefined {
  return settings.text("SKERRY_HOST_ADDRESS") ?? reachable(settings.text("SKERRY_HOST_LISTEN"));
}

/** Beside the host API, where other hosts reach that. */
export function edgeDoor(settings: Settings): EdgeDoorConfig | undefined {
  const own = settings.endpoint("SKERRY_EDGE_INNER");
  const { host } = settings.endpoint("SKERRY_HOST_LISTEN") ?? {};
  const reached = reachedAt(settings);
  if (host === undefined || reached === undefined) return undefined;
  const port = own?.port ?? EDGE_INNER_PORT;
  const address = (at: string) => (at.includes(":") ? `[${at}]:${port}` : `${at}:${port}`);
  return { listen: address(own?.host ?? host), address: reached.replace(/:\d+$/, `:${port}`) };
}

/** Without a setting other hosts reach it where it listens, unless it listens on every address. */
function reachable(listen: string | undefined): string | undefined {
  return listen === undefined || /^(0\.0\.0\.0|\[::\]):/.test(listen) ? undefined : listen;
}

interface Names {
  readonly name: string;
  readonly endpoint: string | undefined;
  readonly edgeDoor: EdgeDoorConfig | undefined;
}

/** Facts of the host by which others know and reach it. */
export function namesOf({
  name,
  endpoint,
  edgeDoor: door,
}: Names): Pick<HostInfo, "name" | "endpoint" | "edge_door"> {
  return {
    name,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(door === undefined ? {} : { edge_door: door.address }),
  };
}
