// Lives of the VMs of a fake host: they start, stop, end and are destroyed.

import { SkerryError } from "@skerry/contract/errors";
import type { StopVm, Vm, VmSpec } from "@skerry/contract/host-api/vm";
import type { FakeHostState } from "./fake-host-state.ts";
import { readBody, sendJson, type HostCall } from "./fake-http.ts";

/** Undefined: the call is not about the life of a VM. */
export function serveLife(host: FakeHostState, call: HostCall): Promise<void> | undefined {
  switch (call.what) {
    case "GET /vms":
      return list(host, call);
    case "PUT vm":
      return start(host, call);
    case "DELETE vm":
      return destroy(host, call);
    case "POST stop":
      return stop(host, call);
    default:
      return undefined;
  }
}

async function list(host: FakeHostState, { response }: HostCall): Promise<void> {
  host.fail("list");
  await host.beforeList();
  sendJson(response, 200, { items: [...host.vms.values()].map(publicPart) });
}

async function start(host: FakeHostState, { id, request, response }: HostCall): Promise<void> {
  response.setHeader("server-timing", host.startTiming);
  const spec = await readBody<VmSpec>(request);
  await host.beforeStart(id);
  host.fail("start");
  await host.pauses.resume(id, spec);
  host.snapshots.starts(spec);
  host.templates.starts(spec);
  await takePlace(host, id, spec);
  if (spec.machine?.disk === "kept" && !host.disks.has(id)) throw new SkerryError("disk_gone", "no disk");
  if (spec.machine?.disk === "new") host.disks.set(id, spec.execution_id);
  const vm = {
    id,
    execution_id: spec.execution_id,
    template: spec.template,
    size: spec.size,
    status: "running" as const,
    reason: null,
    started_at: new Date().toISOString(),
  };
  host.vms.set(id, { ...vm, spec });
  await host.pauses.resumed(id, spec);
  await host.snapshots.started(spec);
  sendJson(response, 200, vm);
}

/** Of what runs, only a later life of a sandbox, at a snapshot, takes the place. Of a machine that has stopped the disk goes as well. */
async function takePlace(
  host: FakeHostState,
  id: string,
  { execution_id, from, machine }: VmSpec,
): Promise<void> {
  const before = host.vms.get(id);
  if (before === undefined || before.execution_id === execution_id) return;
  const isAtSnapshot = from?.kind === "snapshot";
  const isLater = isAtSnapshot && machine === undefined && execution_id > before.execution_id;
  if (before.status === "running" && !(isLater && host.snapshots.replaces))
    throw new SkerryError("stale_execution", "another incarnation runs");
  if (!isAtSnapshot) return;
  host.vms.delete(id);
  host.disks.delete(id);
  await host.snapshots.betweenLives();
}

async function destroy(host: FakeHostState, { id, url, response }: HostCall): Promise<void> {
  await host.beforeDestroy(id);
  host.fail("destroy");
  if (host.stuck.has(id)) throw new SkerryError("internal", "device busy");
  if (host.vms.get(id)?.execution_id === url.searchParams.get("execution_id")) {
    host.vms.delete(id);
    host.moves.forget(id);
    host.disks.delete(id);
    host.console.end(id);
  }
  response.writeHead(204).end();
}

async function stop(host: FakeHostState, { id, request, response }: HostCall): Promise<void> {
  const order = await readBody<StopVm>(request);
  host.stops.push(order);
  await host.beforeStop(id);
  host.fail("stop");
  const vm = host.vms.get(id);
  if (vm === undefined) throw new SkerryError("vm_not_found", "no such VM");
  if (vm.execution_id !== order.execution_id) throw new SkerryError("stale_execution", "another incarnation");
  if ((order.unused_ms ?? 0) > (host.pauses.unusedMs?.get(id) ?? 0))
    throw new SkerryError("vm_in_use", "It is in use.");
  const exit = { exit_code: 143, signal: 15, oom_killed: false };
  if (vm.status === "running") host.vms.set(id, { ...vm, status: "stopped", exit });
  sendJson(response, 200, publicPart(host.vms.get(id) ?? vm));
}

function publicPart({ spec: _spec, ...vm }: Vm & { readonly spec: VmSpec }): Vm {
  return vm;
}
