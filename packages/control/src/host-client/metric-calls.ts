import { Compile } from "typebox/compile";
import { VmSamples } from "@skerry/contract/host-api/metrics";
import { Deadline } from "./deadline.ts";
import type { HostTransport } from "./host-transport.ts";

const CALL_DEADLINE_MS = 10_000;
const shape = Compile(VmSamples);

export class MetricCalls {
  readonly #transport: HostTransport;

  constructor(transport: HostTransport) {
    this.#transport = transport;
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
