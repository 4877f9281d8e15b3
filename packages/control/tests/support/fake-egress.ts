// Egress of the VMs of a fake host: the rules that are in force, and what they have denied.

import { SkerryError } from "@skerry/contract/errors";
import type { EgressChange } from "@skerry/contract/host-api/vm";
import type { HostEgressReport } from "@skerry/contract/vms/egress";
import type { FakeHostState } from "./fake-host-state.ts";
import { readBody, sendJson, type HostCall } from "./fake-http.ts";

/** Undefined: the call is not about egress. */
export function serveEgress(host: FakeHostState, call: HostCall): Promise<void> | undefined {
  if (call.what === "PUT egress") return set(host, call);
  return call.what === "GET egress" ? tell(host, call) : undefined;
}

async function set(host: FakeHostState, { id, request, response }: HostCall): Promise<void> {
  const change = await readBody<EgressChange>(request);
  host.require(id, change.execution_id);
  await host.beforeEgress(id);
  host.fail("egress");
  const vm = host.vms.get(id);
  if (vm !== undefined && change.version > vm.spec.egress_version) {
    const { egress, version } = change;
    host.vms.set(id, { ...vm, spec: { ...vm.spec, egress, egress_version: version } });
  }
  sendJson(response, 200, reportOf(host, id));
}

async function tell(host: FakeHostState, { id, url, response }: HostCall): Promise<void> {
  host.require(id, url.searchParams.get("execution_id"));
  host.fail("egress");
  sendJson(response, 200, reportOf(host, id));
}

function reportOf(host: FakeHostState, id: string): HostEgressReport {
  const vm = host.vms.get(id);
  if (vm === undefined) throw new SkerryError("vm_not_found", "no such VM");
  const { private_cidrs: _, injection: _injection, ...policy } = vm.spec.egress;
  return {
    ...policy,
    counters: { bytes_out: 1, packets_out: 2, bytes_in: 3, packets_in: 4 },
    denied: [...host.denied],
    ...(policy.inject !== undefined && { injected: [...host.injected] }),
  };
}
