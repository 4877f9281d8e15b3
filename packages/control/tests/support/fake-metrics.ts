// What a fake host has measured of its VMs.

import type { IncomingMessage, ServerResponse } from "node:http";
import { SkerryError } from "@skerry/contract/errors";
import type { VmDenials } from "@skerry/contract/host-api/denials";
import type { VmSamples } from "@skerry/contract/host-api/metrics";
import { sendJson } from "./fake-http.ts";

export class FakeMetrics {
  /** Of every VM. Undefined: as a host of an earlier version, which measures none. */
  samples: VmSamples | undefined = { items: [], damaged: 0 };
  /** Undefined: as a host of an earlier version, which does not count them. */
  denials: VmDenials | undefined = { items: [] };
  readonly #vms: () => ReadonlyMap<string, unknown>;

  constructor(vms: () => ReadonlyMap<string, unknown>) {
    this.#vms = vms;
  }

  /** Undefined: the call is not about metrics. */
  serve(request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    if ((request.url ?? "").startsWith("/denials?")) return this.#sendDenials(response);
    const [, , id = "", part] = (request.url ?? "").split("?")[0]?.split("/") ?? [];
    return part === "metrics" ? this.#send(id, response) : undefined;
  }

  async #sendDenials(response: ServerResponse): Promise<void> {
    if (this.denials === undefined) throw new SkerryError("not_found", "There is nothing at this path.");
    sendJson(response, 200, this.denials);
  }

  async #send(id: string, response: ServerResponse): Promise<void> {
    if (this.samples === undefined) throw new SkerryError("not_found", "There is nothing at this path.");
    if (!this.#vms().has(id)) throw new SkerryError("vm_not_found", "no such VM");
    sendJson(response, 200, this.samples);
  }
}
