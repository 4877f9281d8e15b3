// Calls to a fake host that are about itself: its description, its cache and its certificate.

import { SkerryError } from "@skerry/contract/errors";
import type { HostInfo } from "@skerry/contract/host-api/host-info";
import type { HostCertificate } from "@skerry/contract/joining/host-certificate";
import type { HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import type { FakeHostState } from "./fake-host-state.ts";
import { readBody, sendJson, type HostCall } from "./fake-http.ts";

/** Undefined: the call is about a VM. */
export function serveHost(host: FakeHostState, call: HostCall): Promise<void> | undefined {
  return call.url.pathname.startsWith("/vms") ? undefined : answer(host, call);
}

async function answer(host: FakeHostState, { url, request, response }: HostCall): Promise<void> {
  if (url.pathname === "/info") return sendJson(response, 200, infoOf(host, host.savedMoves.runsHere));
  if (url.pathname === "/cache/sweep") return sendJson(response, 200, { removed: 3 });
  if (host.identity === undefined) throw new SkerryError("not_found", "There is nothing at this path.");
  if (request.method === "POST") return sendJson(response, 200, host.identity.request());
  host.identity.install(await readBody<HostCertificate>(request));
  response.writeHead(204).end();
}

type Told = Pick<HostInfo, "name" | "cpus" | "ended"> & {
  readonly memoryMib: number;
  readonly template: HostInfo["templates"][number];
  readonly usage: HostInfo["usage"] | undefined;
  readonly edgeDoor: HostInfo["edge_door"];
};

function infoOf(
  { name, cpus, memoryMib, template, ended, usage, edgeDoor }: Told,
  runsHere: HostCompatibility,
): HostInfo {
  return {
    name,
    version: "0",
    accelerator_reason: "a fake",
    ...runsHere,
    kernel_version: "0",
    resource_limits: "none",
    cpus,
    memory_mib: memoryMib,
    templates: [template],
    ...(ended === undefined ? {} : { ended }),
    ...(usage === undefined ? {} : { usage }),
    ...(edgeDoor === undefined ? {} : { edge_door: edgeDoor }),
  };
}
