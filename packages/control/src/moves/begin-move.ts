// Where a VM goes that has to leave its host: to the one with most room, if it can go on there as it is.

import { randomBytes } from "node:crypto";
import { incompatibility } from "@skerry/contract/moves/host-compatibility";
import { HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import { findSize, type Size } from "@skerry/contract/sizes";
import { Compile } from "typebox/compile";
import {
  compatibilitiesOf,
  insertMove,
  recentFailures,
  type DrainingHost,
  type MovableVm,
  type MoveRow,
} from "./move-store.ts";
import type { Context } from "../context.ts";
import { templatePlaces, waitsForTemplate, type Bringing } from "./template-places.ts";
import { fits, place } from "@skerry/contract/hosts/placement";
import { lockCapacity, type HostLoad } from "../capacity/capacity-rows.ts";

export type Departure =
  | { readonly kind: "begun"; readonly move: MoveRow }
  /** In words for the operator; `template` where that is brought to where it could go, or has failed to get there. */
  | { readonly kind: "waits"; readonly waitsFor: string; readonly template?: AwaitedTemplate }
  /** It has ended, or another replica moves it. */
  | { readonly kind: "left" };

export interface AwaitedTemplate {
  readonly bringing: Bringing;
  /** Hosts that have room and lack it. */
  readonly lacking: readonly string[];
}

/** Takes room for it elsewhere, and says so in a row that any replica can carry on with. */
export async function beginMove(
  context: Context,
  vm: MovableVm,
  { id, compatibility }: DrainingHost,
): Promise<Departure> {
  const size = findSize(vm.size);
  if (size === undefined) return { kind: "waits", waitsFor: `the size "${vm.size}" of ${vm.id} is unknown` };
  await context.hostCapacity.refreshNow();
  const others = context.hostCapacity.hosts.filter((host) => host.id !== id);
  const compatibilities = await compatibilitiesOf(
    context.db,
    others.map((host) => host.id),
  );
  const failed = await recentFailures(context.db, vm.id);
  const faults = others.map(
    ({ id: host }) => failed.get(host) ?? faultBetween(compatibility, compatibilities.get(host)),
  );
  const fitting = others.filter((_host, index) => faults[index] === undefined);
  const { having, bring } = await templatePlaces(context, vm.template, fitting);
  const roomIn = (hosts: readonly HostLoad[]): readonly string[] => {
    const placement = place(hosts, size, context.limits.vcpusPerCpu);
    return placement.kind === "candidates" ? placement.hostIds : [];
  };
  for (const hostId of roomIn(having)) {
    const taken = await take(context, vm, { hostId, size });
    if (taken !== "full") return taken === undefined ? { kind: "left" } : { kind: "begun", move: taken };
  }
  const lacking = roomIn(fitting.filter((host) => !having.includes(host)));
  if (lacking.length > 0) {
    const why = waitsForTemplate(await bring(lacking));
    return { kind: "waits", waitsFor: `${shown(vm)} cannot go on elsewhere yet: ${why}` };
  }
  return { kind: "waits", waitsFor: waitsFor(vm, { others, faults, fitting }) };
}

async function take(
  context: Context,
  vm: MovableVm,
  { hostId, size }: { hostId: string; size: Size },
): Promise<MoveRow | "full" | undefined> {
  using _pending = context.hostCapacity.hold(hostId, size);
  return context.db.transaction().execute(async (transaction) => {
    // Quotas count what an organization has, wherever it is.
    const { host } = await lockCapacity(transaction, vm.org_id, hostId);
    context.hostCapacity.saw(hostId, host);
    if (host === undefined || !fits(host, size, context.limits.vcpusPerCpu)) return "full";
    return insertMove(transaction, vm, { toHostId: hostId, ticket: randomBytes(32).toString("hex") });
  });
}

const compatibilityShape = Compile(HostCompatibility);

/** Why what was started on the one cannot go on on the other; undefined where it can. */
export function faultBetween(
  here: Partial<HostCompatibility>,
  there: Partial<HostCompatibility> | undefined,
): string | undefined {
  const [from, to] = [compatibilityOf(here), compatibilityOf(there ?? {})];
  if (from === undefined || to === undefined) return "a version of Skerry there does not move VMs yet";
  return incompatibility(from, to);
}

/** Of all that a host says of itself. */
function compatibilityOf({
  accelerator,
  qemu_version,
  cpu,
  tsc_khz,
}: Partial<HostCompatibility>): HostCompatibility | undefined {
  const compatibility = { accelerator, qemu_version, cpu, tsc_khz };
  return compatibilityShape.Check(compatibility) ? compatibility : undefined;
}

function waitsFor(
  vm: MovableVm,
  {
    others,
    faults,
    fitting,
  }: { others: readonly HostLoad[]; faults: readonly (string | undefined)[]; fitting: readonly HostLoad[] },
): string {
  const what = shown(vm);
  if (others.length === 0) return `${what} has nowhere to go: no other host is online`;
  if (fitting.length > 0) return `${what} has nowhere to go: no other host has as much room`;
  return `${what} cannot go on elsewhere: ${faults.find((fault) => fault !== undefined) ?? "no host takes it"}`;
}

function shown({ id, memory_mib, vcpus }: MovableVm): string {
  return `${id} (${memory_mib} MiB, ${vcpus} vCPUs)`;
}
