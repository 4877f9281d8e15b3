// Where a new VM goes, and what still fits. Pure: hosts and their load in, a decision out. Control decides by it, and the dashboard shows what would
// be decided.

import type { Size } from "../sizes.ts";

export interface PlaceableHost {
  readonly id: string;
  readonly cpus: number;
  readonly memory_mib: number;
  readonly used_memory_mib: number;
  readonly used_vcpus: number;
}

export type Placement =
  /** Hosts to try, best first. */
  | { readonly kind: "candidates"; readonly hostIds: readonly string[] }
  /** Fits nowhere now, but would on an empty host. Of the hosts, so many lack this. */
  | { readonly kind: "full"; readonly lackMemory: number; readonly lackCpus: number }
  /** No host could ever hold it. */
  | { readonly kind: "too_large"; readonly largestMemoryMib: number };

/** Spread: first the host that would have most left of what it is shortest of, so that no host runs out of one thing early. */
export function place(hosts: readonly PlaceableHost[], size: Size, vcpusPerCpu: number): Placement {
  const possible = hosts.filter((host) =>
    fits({ ...host, used_memory_mib: 0, used_vcpus: 0 }, size, vcpusPerCpu),
  );
  if (possible.length === 0) {
    return { kind: "too_large", largestMemoryMib: Math.max(0, ...hosts.map((host) => host.memory_mib)) };
  }
  const fitting = possible
    .filter((host) => fits(host, size, vcpusPerCpu))
    .map((host) => ({ id: host.id, left: shareLeft(host, size, vcpusPerCpu) }))
    .toSorted((a, b) => b.left - a.left || (a.id < b.id ? -1 : 1));
  if (fitting.length > 0) return { kind: "candidates", hostIds: fitting.map(({ id }) => id) };
  return {
    kind: "full",
    lackMemory: possible.filter((host) => freeMemoryMib(host) < size.memory_mib).length,
    lackCpus: possible.filter((host) => freeVcpus(host, vcpusPerCpu) < size.vcpus).length,
  };
}

/** For what takes no room now and may want it later: hosts that could hold it when they are empty, first those with most left. */
export function placeSaved(
  hosts: readonly PlaceableHost[],
  size: Size,
  vcpusPerCpu: number,
): readonly string[] {
  return hosts
    .filter((host) => fits({ ...host, used_memory_mib: 0, used_vcpus: 0 }, size, vcpusPerCpu))
    .map((host) => ({ id: host.id, left: shareLeft(host, size, vcpusPerCpu) }))
    .toSorted((a, b) => b.left - a.left || (a.id < b.id ? -1 : 1))
    .map(({ id }) => id);
}

export function fits(host: PlaceableHost, size: Size, vcpusPerCpu: number): boolean {
  return size.memory_mib <= freeMemoryMib(host) && size.vcpus <= freeVcpus(host, vcpusPerCpu);
}

/** How many more of a size one host can hold, when nothing else comes. */
export function countThatFit(host: PlaceableHost, size: Size, vcpusPerCpu: number): number {
  const byMemory = Math.floor(freeMemoryMib(host) / size.memory_mib);
  return Math.max(0, Math.min(byMemory, Math.floor(freeVcpus(host, vcpusPerCpu) / size.vcpus)));
}

/** Up to 1, and below 0 where there is no room: what would be left of memory or of CPUs, the lesser of the two. */
function shareLeft(host: PlaceableHost, size: Size, vcpusPerCpu: number): number {
  const memory = (freeMemoryMib(host) - size.memory_mib) / host.memory_mib;
  return Math.min(memory, (freeVcpus(host, vcpusPerCpu) - size.vcpus) / (host.cpus * vcpusPerCpu));
}

function freeMemoryMib(host: PlaceableHost): number {
  return host.memory_mib - host.used_memory_mib;
}

function freeVcpus(host: PlaceableHost, vcpusPerCpu: number): number {
  return host.cpus * vcpusPerCpu - host.used_vcpus;
}
