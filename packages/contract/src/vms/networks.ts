// The networks that egress rules know by themselves. Control refuses policies by these lists, hosts compile them into each slot's rules.

import { cidrOf, contains, covers, overlaps, type Cidr } from "../cidrs.ts";
import type { HostEgress } from "./egress.ts";

/** A network that no sandbox reaches, also where its policy allows it. `is` completes "it is …" in the refusal. Sources: RFC 6890 (special-purpose
 *  addresses), and for the metadata services the clouds' own pages: Azure "What is IP address 168.63.129.16?", Oracle "Instance Metadata"
 *  (192.0.0.192), Alibaba "Instance metadata" (100.100.100.200). The other clouds' are link-local. */
export const neverNetworks = [
  { cidr: "0.0.0.0/8", is: "no address of a machine" },
  { cidr: "100.100.100.200/32", is: "the metadata service of Alibaba Cloud" },
  { cidr: "127.0.0.0/8", is: "loopback" },
  { cidr: "168.63.129.16/32", is: "the metadata service of Azure" },
  { cidr: "169.254.0.0/16", is: "link-local, where metadata services are" },
  { cidr: "192.0.0.0/24", is: "reserved, and has the metadata service of Oracle Cloud" },
  { cidr: "224.0.0.0/4", is: "multicast" },
  { cidr: "240.0.0.0/4", is: "reserved, or broadcast" },
] as const;

/** Networks that are an operator's own: RFC 1918, RFC 6598 (100.64.0.0/10) and RFC 2544 (198.18.0.0/15). They are reached where a policy
 *  allows them and the operator has granted them to the organization. The documentation networks of RFC 5737 are not among them. */
export const privateNetworks = [
  "10.0.0.0/8",
  "100.64.0.0/10",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "198.18.0.0/15",
] as const;

const never = neverNetworks.map((network) => ({ ...cidrOf(network.cidr), is: network.is }));
const privates = privateNetworks.map(cidrOf);

/** What a network is of which no address can be reached; undefined where some can. */
export function whyNever(cidr: Cidr): string | undefined {
  return never.find((network) => contains(network, cidr))?.is;
}

/** Whether it names private addresses and no others. */
export function isPrivate(cidr: Cidr): boolean {
  return privates.some((network) => contains(network, cidr));
}

function isPartlyPrivate(cidr: Cidr): boolean {
  return privates.some((network) => overlaps(network, cidr));
}

/** The policy for a host, with what the operator has granted to the organization. The grants are left out where they change nothing, which
 *  is nearly always: hosts of versions before them refuse a policy that has them. */
export function withGrants(egress: HostEgress, granted: readonly string[]): HostEgress {
  const { private_cidrs: _, ...policy } = egress;
  const allowed = policy.allow_cidrs.map(cidrOf).filter(isPartlyPrivate);
  const grants = granted.filter((grant) => allowed.some((cidr) => overlaps(cidr, cidrOf(grant))));
  const isNamed = (cidr: Cidr): boolean => isPrivate(cidr) && covers(grants.map(cidrOf), cidr);
  const changesNothing = allowed.every((cidr) => isNamed(cidr) || (!isPrivate(cidr) && grants.length === 0));
  return changesNothing ? policy : { ...policy, private_cidrs: grants };
}

/** The private networks that a policy on a host may open. Without grants they are those that its allowed CIDRs name by themselves: control
 *  has seen that they are granted, or is of a version that knew no grants. */
export function openPrivateCidrs({ private_cidrs, allow_cidrs }: HostEgress): readonly string[] {
  return private_cidrs ?? allow_cidrs.filter((cidr) => isPrivate(cidrOf(cidr)));
}
