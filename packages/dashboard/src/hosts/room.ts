// What hosts have left. Pure.

import type { Host } from "@skerry/sdk";
import { bytesText, countText } from "../ui/text.ts";

const MIB = 1024 * 1024;

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
