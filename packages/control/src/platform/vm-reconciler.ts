// Makes rows and microVMs agree again after a crash, a lost VM or a call without an answer. Where a host cannot be reached
// nothing is concluded about it.

import type { Vm } from "@skerry/contract/host-api/vm";
import { isId } from "@skerry/contract/ids";
import { buildVmWork } from "../builds/clean-up-builds.ts";
import { stateOf, type Context } from "../context.ts";
import { hostsInReach, settleHost, type HostInReach } from "../hosts/host-rows.ts";
import { withoutArrivals } from "../moves/arrivals.ts";
import { machineFacts, machinesOnHost } from "../machines/machine-facts.ts";
import { cleanUpSandbox } from "../sandboxes/clean-up-sandbox.ts";
import { sandboxesOnHost, sandboxFacts } from "../sandboxes/sandbox-facts.ts";
import { checkWork } from "../machines/check-work.ts";
import { cleanUpMachine } from "../machines/clean-up-machine.ts";
import { machineReconcileActions, type MachineAction } from "../machines/machine-reconcile.ts";
import { snapshotWork } from "../snapshots/clean-up-snapshots.ts";
import { sandboxReconcileActions, type Action as SandboxAction } from "../sandboxes/sandbox-reconcile.ts";
import { Postponed } from "../vms/postpone.ts";
import { reportOf, type BackgroundService, type Report } from "../background/background-service.ts";

const SERVICE = "vm-cleanup";
/** Actions per host and activation. */
const BATCH = 32;

export function vmReconciler(context: Context, everyMs: number): BackgroundService {
  return {
    name: SERVICE,
    everyMs,
    async activate(stop) {
      const hosts = await hostsInReach(context.db);
      const results = await Promise.allSettled(hosts.map((host) => reconcileHost(context, host, stop)));
      return sum(
        results.map((result, index) =>
          result.status === "fulfilled" ? result.value : unreachable(hosts[index]),
        ),
      );
    },
  };
}

/** A host that does not answer is being restarted, or will soon be taken for dead. What it left half done does not wait for the next turn. */
const UNREACHABLE_AGAIN_MS = 2_000;

function unreachable(host: HostInReach | undefined): Report {
  const nextMs = host?.status === "maintenance" ? Infinity : UNREACHABLE_AGAIN_MS;
  return { examined: 0, changed: 0, failed: 1, more: false, nextMs };
}

async function reconcileHost(context: Context, host: HostInReach, stop: AbortSignal): Promise<Report> {
  const client = context.hosts.client(host.address);
  const sandboxes = await sandboxesOnHost(context.db, host.id);
  const machines = await machinesOnHost(context.db, host.id);
  const vms = await withoutArrivals(context.db, await client.listVms(stop));
  const ofBuilds = vms.filter((vm) => isId("build", vm.id));
  const ofMachines = vms.filter((vm) => isId("machine", vm.id));
  const ofSandboxes = vms.filter((vm) => !isId("machine", vm.id) && !isId("build", vm.id));
  const sandboxesAfter = await sandboxFacts(context.db, idsOf(ofSandboxes));
  const machinesAfter = await machineFacts(context.db, idsOf(ofMachines));
  tellUnknown(context, host, { vms: ofMachines, known: machinesAfter });
  const paused = ofSandboxes.filter((vm) => vm.status === "paused");
  tellUnknown(context, host, { vms: paused, known: sandboxesAfter });
  const ofSandboxRows = sandboxReconcileActions(host.id, sandboxes, ofSandboxes, sandboxesAfter);
  const ofMachineRows = machineReconcileActions(host.id, machines, ofMachines, machinesAfter);
  const actions = [
    ...ofSandboxRows
      .filter(isDue)
      .map((action) => () => cleanUpSandbox(context, { client, action, stop, service: SERVICE })),
    ...(await buildVmWork(context, { vms: ofBuilds, client, stop })),
    ...(await snapshotWork(context, { hostId: host.id, client, stop, service: SERVICE })),
    ...ofMachineRows
      .filter(isDue)
      .map((action) => () => cleanUpMachine(context, { client, action, stop, service: SERVICE })),
  ];
  const isSettled = actions.length + ofSandboxRows.length + ofMachineRows.length === 0;
  actions.push(...(await checkWork(context, { machines, client, stop, service: SERVICE })));
  if (host.unsettled && isSettled) await settleHost(context.db, host);
  // Settled, not all: no host call may outlive the activation that made it.
  const results = await Promise.allSettled(actions.slice(0, BATCH).map((carriedOut) => carriedOut()));
  for (const result of results) {
    if (result.status === "rejected" && !stop.aborted && !(result.reason instanceof Postponed)) {
      context.log.warn({ err: result.reason as unknown, host_id: host.id }, "could not reconcile a VM");
    }
  }
  const changed = results.some((result) => result.status === "fulfilled");
  const report = reportOf(results, {
    examined: sandboxes.length + machines.length + vms.length,
    // Without progress the next turn would meet the same stuck ones at once. A host that is back waits for a turn that finds nothing to do.
    more: changed && (actions.length > BATCH || host.unsettled),
  });
  return { ...report, nextMs: earliest([...sandboxes, ...machines].map((row) => row.due_in_ms)) };
}

/** Whether VM cleanup acts now: a superfluous VM that its host could not remove waits for its next attempt.
 *  */
function isDue(action: SandboxAction | MachineAction): boolean {
  return !((action.kind === "discard" || action.kind === "halt") && action.row?.waiting === true);
}

/** Disks that have been told of; forgotten when there are too many. */
const toldOf = stateOf(() => new Set<string>());
const TOLD_MAX = 10_000;

/** A disk without a row is left to the operator, who has to hear of it, once from each process. */
function tellUnknown(
  context: Context,
  { id }: HostInReach,
  { vms, known }: { readonly vms: readonly Vm[]; readonly known: readonly { readonly id: string }[] },
): void {
  const rows = new Set(known.map((row) => row.id));
  const told = toldOf(context);
  if (told.size > TOLD_MAX) told.clear();
  for (const vm of vms.filter((one) => !rows.has(one.id) && !told.has(one.id))) {
    told.add(vm.id);
    context.log.warn(
      { vm_id: vm.id, host_id: id },
      "a host has the disk of a machine, or of a paused sandbox, that has no row; it is left there",
    );
  }
}

function idsOf(vms: readonly Vm[]): string[] {
  return vms.map((vm) => vm.id);
}

/** Infinity where nothing waits for its time. */
function earliest(dueInMs: readonly (number | null | undefined)[]): number {
  return Math.min(...dueInMs.map((ms) => ms ?? Infinity));
}

function sum(reports: readonly Report[]): Report {
  return {
    examined: reports.reduce((total, report) => total + report.examined, 0),
    changed: reports.reduce((total, report) => total + report.changed, 0),
    failed: reports.reduce((total, report) => total + report.failed, 0),
    more: reports.some((report) => report.more),
    nextMs: earliest(reports.map((report) => report.nextMs)),
  };
}
