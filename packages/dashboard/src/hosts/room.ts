// What hosts have left, by the rules that control places VMs by. Pure.

import type { Host } from "@skerry/sdk";
import { countThatFit, type PlaceableHost } from "@skerry/contract/hosts/placement";
import type { Size } from "@skerry/contract/sizes";
import { bytesText, countText } from "../ui/text.ts";

const MIB = 1024 * 1024;
/** A host's answer has its vCPUs multiplied already. */
const VCPUS_PER_CPU = 1;

/** Whether control gives it new VMs while it has room. */
export function takesNew({ status, desired, waits_for: waits }: Host): boolean {
  return status === "online" && desired === "active" && waits === null;
}

export const freeMemoryMib = ({ capacity, used }: Host): number =>
  Math.max(0, capacity.memory_mib - used.memory_mib);
export const freeVcpus = ({ capacity, used }: Host): number => Math.max(0, capacity.vcpus - used.vcpus);

/** Of those that take new VMs, the one with most memory left. */
export function roomiest(hosts: readonly Host[]): Host | undefined {
  return hosts.filter(takesNew).toSorted((one, other) => freeMemoryMib(other) - freeMemoryMib(one))[0];
}

export function roomText(host: Host): string {
  return `${bytesText(freeMemoryMib(host) * MIB)} and ${countText(freeVcpus(host))} vCPUs are free`;
}

export interface Fit {
  readonly size: string;
  readonly count: number;
}

/** How many of each size still fit on all of these together, when nothing else comes; sizes of which none fits are left out. */
export function whatFits(hosts: readonly Host[], sizes: readonly Size[]): readonly Fit[] {
  return sizes.flatMap((size) => {
    const count = hosts
      .filter(takesNew)
      .reduce((sum, host) => sum + countThatFit(placeable(host), size, VCPUS_PER_CPU), 0);
    return count === 0 ? [] : [{ size: size.name, count }];
  });
}

export function fitsText(fits: readonly Fit[]): string {
  return fits.length === 0
    ? "nothing"
    : fits.map(({ size, count }) => `${countText(count)} × ${size}`).join(", ");
}

function placeable({ id, capacity, used }: Host): PlaceableHost {
  return {
    id,
    cpus: capacity.vcpus,
    memory_mib: capacity.memory_mib,
    used_memory_mib: used.memory_mib,
    used_vcpus: used.vcpus,
  };
}
