import { formatCidr, type Cidr } from "@skerry/contract/cidrs";

/** Sorted, and each network once. */
export function canonicalCidrs(entries: readonly Cidr[]): string[] {
  const sorted = entries.toSorted((a, b) => a.address - b.address || a.prefix - b.prefix);
  return [...new Set(sorted.map(formatCidr))];
}
