// Health checks of a fake host: those that it was told, and what a test has it find.

import { SkerryError } from "@skerry/contract/errors";
import type { CheckChange, CheckState } from "@skerry/contract/host-api/checks";
import type { FakeHostState } from "./fake-host-state.ts";
import { readBody, sendJson, type HostCall } from "./fake-http.ts";

export class FakeChecks {
  /** Check of each VM, as it was told last. */
  readonly told = new Map<string, CheckChange>();
  /** States that it tells, in the order of the VMs. */
  readonly states = new Map<string, CheckState>();
  /** False: as a host of an earlier version, which knows no checks. */
  known = true;

  /** Undefined: the call is not about checks. */
  serve(host: FakeHostState, call: HostCall): Promise<void> | undefined {
    if (call.what === "PUT check") return this.#set(host, call);
    const isList = call.request.method === "GET" && call.url.pathname === "/checks";
    return isList ? this.#list(call) : undefined;
  }

  /** Has it find this; the next heartbeat tells that there is something to read. */
  find(host: FakeHostState, id: string, found: Pick<CheckState, "status"> & Partial<CheckState>): void {
    const change = this.told.get(id);
    if (change?.check === undefined) throw new Error(`the host was told of no check of ${id}`);
    this.states.set(id, stateOf(id, change, found));
    host.ended += 1;
  }

  /** Its process was restarted. */
  forget(): void {
    this.told.clear();
    this.states.clear();
  }

  async #set(host: FakeHostState, { id, request, response }: HostCall): Promise<void> {
    this.#requireKnown();
    const change = await readBody<CheckChange>(request);
    host.require(id, change.execution_id);
    this.told.set(id, change);
    if (change.check === undefined) this.states.delete(id);
    else this.states.set(id, stateOf(id, change, { status: "starting" }));
    response.writeHead(204).end();
  }

  async #list({ response }: HostCall): Promise<void> {
    this.#requireKnown();
    sendJson(response, 200, { items: [...this.states.values()] });
  }

  #requireKnown(): void {
    if (!this.known) throw new SkerryError("not_found", "Not Found");
  }
}

function stateOf(
  id: string,
  { execution_id, version }: CheckChange,
  found: Pick<CheckState, "status"> & Partial<CheckState>,
): CheckState {
  const at = "2026-01-01T00:00:01.000Z";
  return { id, execution_id, version, since: at, reason: null, last_checked_at: at, ...found };
}
