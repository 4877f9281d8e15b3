// Where a new sandbox goes. Pure: hosts and their load in, a decision out.

import type { Size } from "@skerry/contract/sizes";

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
  /** Fits nowhere now, but would on an empty host. */
  | { readonly kind: "full" }
  /** No host could ever hold it. */
  | { readonly kind: "too_large"; readonly largestMemoryMib: number };

/** The fewest free MiB first: filling one host before the next keeps room for large sandboxes. */
export function place(hosts: readonly PlaceableHost[], size: Size, vcpusPerCpu: number): Placement {
  const possible = hosts.filter((host) =>
    fits({ ...host, used_memory_mib: 0, used_vcpus: 0 }, size, vcpusPerCpu),
  );
  if (possible.length === 0) {
    return { kind: "too_large", largestMemoryMib: Math.max(0, ...hosts.map((host) => host.memory_mib)) };
  }
  const fitting = possible
    .filter((host) => fits(host, size, vcpusPerCpu))
    .toSorted((a, b) => freeMemoryMib(a) - freeMemoryMib(b) || (a.id < b.id ? -1 : 1));
  return fitting.length === 0
    ? { kind: "full" }
    : { kind: "candidates", hostIds: fitting.map((host) => host.id) };
}

export function fits(host: PlaceableHost, size: Size, vcpusPerCpu: number): boolean {
  return size.memory_mib <= freeMemoryMib(host) && host.used_vcpus + size.vcpus <= host.cpus * vcpusPerCpu;
}

function freeMemoryMib(host: PlaceableHost): number {
  return host.memory_mib - host.used_memory_mib;
}
