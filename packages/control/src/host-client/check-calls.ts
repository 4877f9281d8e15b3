import { Compile } from "typebox/compile";
import { CheckStates, type CheckChange, type CheckState } from "@skerry/contract/host-api/checks";
import { Deadline } from "./deadline.ts";
import type { HostTransport } from "./host-transport.ts";

const CALL_DEADLINE_MS = 10_000;
const states = Compile(CheckStates);

export class CheckCalls {
  readonly #transport: HostTransport;

  constructor(transport: HostTransport) {
    this.#transport = transport;
  }

  /** States of all VMs that the host checks. Code `not_found` of a host that runs no checks. */
  async list(stop?: AbortSignal): Promise<readonly CheckState[]> {
    const call = { method: "GET", path: "/checks" } as const;
    return (await this.#transport.json(call, states, new Deadline(CALL_DEADLINE_MS, stop))).items;
  }

  /** The check of this incarnation from now on. Code `not_found` of a host that runs no checks. */
  set(id: string, change: CheckChange, stop?: AbortSignal): Promise<void> {
    const call = { method: "PUT", path: `/vms/${encodeURIComponent(id)}/check`, json: change } as const;
    return this.#transport.done(call, new Deadline(CALL_DEADLINE_MS, stop));
  }
}
