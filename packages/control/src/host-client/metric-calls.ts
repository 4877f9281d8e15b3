import { Compile } from "typebox/compile";
import { VmDenials } from "@skerry/contract/host-api/denials";
import { VmSamples } from "@skerry/contract/host-api/metrics";
import { Deadline } from "./deadline.ts";
import type { HostTransport } from "./host-transport.ts";

const CALL_DEADLINE_MS = 10_000;
const shape = Compile(VmSamples);
const denials = Compile(VmDenials);

export class MetricCalls {
  readonly #transport: HostTransport;

  constructor(transport: HostTransport) {
    this.#transport = transport;
  }

  /** Of all its VMs, since a minute of its clock. Code `not_found` of a host that does not count them. */
  denials(sinceMinute: number, stop?: AbortSignal): Promise<VmDenials> {
    const call = { method: "GET", path: "/denials", query: { since_minute: sinceMinute } } as const;
    return this.#transport.json(call, denials, new Deadline(CALL_DEADLINE_MS, stop));
  }

  /** Of any life of a VM, since a time in milliseconds since 1970. */
  samples(id: string, sinceMs: number, stop?: AbortSignal): Promise<VmSamples> {
    const call = {
      method: "GET",
      path: `/vms/${encodeURIComponent(id)}/metrics`,
      query: { since_ms: sinceMs },
    } as const;
    return this.#transport.json(call, shape, new Deadline(CALL_DEADLINE_MS, stop));
  }
}
