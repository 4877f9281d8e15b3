// A request for egress rules as a whole policy: defaults filled in, every entry checked, CIDRs in their one canonical form.
// Pure. Reading a policy that came out of here gives the same policy.

import type { Egress, EgressRequest } from "@skerry/contract/egress";
import { SkerryError } from "@skerry/contract/errors";
import { contains, formatCidr, parseCidr, type Cidr } from "./cidrs.ts";

const PORT_MAX = 65_535;

/** Rule 1 of the policy's order of decision, as far as it is known without a host. */
const neverRanges: readonly (readonly [name: string, cidr: string])[] = [
  ["no address of a machine", "0.0.0.0/8"],
  ["loopback", "127.0.0.0/8"],
  ["link-local, where metadata services are", "169.254.0.0/16"],
  ["multicast", "224.0.0.0/4"],
  ["broadcast", "255.255.255.255/32"],
];

/**
 * `at` is where the policy is in the request: `egress`, or nothing where it is the whole body. `defaultMode` is what the organization
 * wants where the request neither names a mode nor implies one.
 */
export function readEgress(
  request: EgressRequest,
  at: "egress" | "" = "",
  defaultMode: Egress["mode"] = "allow_all",
): Egress {
  const field = (name: string) => (at === "" ? name : `${at}.${name}`);
  const allowed = readCidrs(field("allow_cidrs"), request.allow_cidrs);
  const denied = readCidrs(field("deny_cidrs"), request.deny_cidrs);
  const ports = readPorts(field("allow_ports"), request.allow_ports);
  // A list that is there and empty names nobody: whoever computed it did not mean everybody.
  const mode = request.mode ?? (request.allow_cidrs === undefined ? defaultMode : "deny_all");
  const [firstAllowed] = allowed;
  const [firstPort] = ports;
  if (mode === "allow_all" && firstAllowed !== undefined) {
    const value = formatCidr(firstAllowed);
    throw new SkerryError(
      "egress_conflict",
      `The mode "allow_all" contradicts the allowed CIDR "${value}".`,
      {
        remediation: `Leave out "${field("mode")}" to allow only the CIDRs, or "${field("allow_cidrs")}" to allow everything.`,
        context: { field: field("allow_cidrs"), value, mode },
      },
    );
  }
  if (firstPort !== undefined && firstAllowed === undefined) {
    throw new SkerryError("egress_conflict", `Port ${firstPort} is allowed, but no CIDR is.`, {
      remediation: `Ports restrict "${field("allow_cidrs")}"; there, "0.0.0.0/0" is every network.`,
      context: { field: field("allow_ports"), value: firstPort },
    });
  }
  refuseUnreachable(allowed);
  return {
    mode,
    allow_cidrs: canonical(allowed),
    deny_cidrs: canonical(denied),
    allow_ports: ports,
    dns: request.dns ?? mode === "allow_all",
  };
}

/** A network, and where in the request it came from. */
interface Entry extends Cidr {
  readonly field: string;
}

/** The policy of something new, as soon as the organization's default is known. What is wrong with it is wrong whatever the default. */
export type EgressWish = (defaultMode: Egress["mode"]) => Egress;

export function readEgressWish(request: EgressRequest = {}): EgressWish {
  const egress: EgressWish = (defaultMode) => readEgress(request, "egress", defaultMode);
  egress("allow_all");
  return egress;
}

function readCidrs(field: string, entries: readonly string[] = []): Entry[] {
  return entries.map((entry, index) => readCidr(`${field}[${index}]`, entry));
}

function readCidr(field: string, entry: string): Entry {
  const cidr = parseCidr(entry);
  if (typeof cidr === "object") {
    if (cidr.canonical.address === cidr.address) return { ...cidr.canonical, field };
    throw invalidCidr(
      { field, entry, fault: `has bits set after the first ${cidr.prefix}` },
      `Write "${formatCidr(cidr.canonical)}" for the network, or "${formatCidr({ ...cidr, prefix: 32 })}" for the one address.`,
    );
  }
  throw invalidCidr({ field, entry, fault: cidr }, 'Write an IPv4 network such as "203.0.113.0/24".');
}

function invalidCidr(
  { field, entry, fault }: { field: string; entry: string; fault: string },
  remediation: string,
): SkerryError {
  return new SkerryError("invalid_cidr", `"${entry}" in "${field}" ${fault}.`, {
    remediation,
    context: { field, value: entry },
  });
}

function readPorts(field: string, ports: readonly number[] = []): number[] {
  for (const [index, port] of ports.entries()) {
    if (port >= 1 && port <= PORT_MAX) continue;
    throw new SkerryError("invalid_port", `${port} in "${field}[${index}]" is not a port.`, {
      remediation: `Ports are whole numbers from 1 to ${PORT_MAX}.`,
      context: { field: `${field}[${index}]`, value: port },
    });
  }
  return [...new Set(ports)].toSorted((a, b) => a - b);
}

/** An allowed network that no policy can open would be a promise that is not kept. */
function refuseUnreachable(allowed: readonly Entry[]): void {
  for (const entry of allowed) {
    const [name] = neverRanges.find(([, range]) => contains(range, entry)) ?? [];
    if (name === undefined) continue;
    const value = formatCidr(entry);
    throw new SkerryError(
      "egress_conflict",
      `"${value}" in "${entry.field}" can never be reached from a sandbox: it is ${name}.`,
      { remediation: "Leave it out.", context: { field: entry.field, value } },
    );
  }
}

/** Sorted, and each network once. */
function canonical(entries: readonly Entry[]): string[] {
  const sorted = entries.toSorted((a, b) => a.address - b.address || a.prefix - b.prefix);
  return [...new Set(sorted.map(formatCidr))];
}
