// A request for egress rules as a whole policy: defaults filled in, every entry checked, CIDRs in their one canonical form.
// Pure. Reading a policy that came out of here gives the same policy.

import { cidrOf, covers, formatCidr, parseCidr, type Cidr } from "@skerry/contract/cidrs";
import type { Egress, EgressRequest } from "@skerry/contract/vms/egress";
import { SkerryError } from "@skerry/contract/errors";
import { isPrivate, whyNever } from "@skerry/contract/vms/networks";
import { readDomains } from "./egress-domains.ts";
import { readInject } from "./inject-params.ts";
import { canonicalCidrs } from "../../values/cidrs.ts";
import type { EgressSettings } from "../../organizations/egress-settings.ts";

const PORT_MAX = 65_535;

/**
 * `at` is where the policy is in the request: `egress`, or nothing where it is the whole body. `settings` are the organization's; without
 * them the request is checked only as far as it is wrong in every organization.
 */
export function readEgress(
  request: EgressRequest,
  at: "egress" | "" = "",
  settings?: EgressSettings,
): Egress {
  const field = (name: string) => (at === "" ? name : `${at}.${name}`);
  const allowed = readCidrs(field("allow_cidrs"), request.allow_cidrs);
  const denied = readCidrs(field("deny_cidrs"), request.deny_cidrs);
  const ports = readPorts(field("allow_ports"), request.allow_ports);
  const allowedDomains = readDomains(field("allow_domains"), request.allow_domains);
  const deniedDomains = readDomains(field("deny_domains"), request.deny_domains);
  // An empty list names no network; the client that computed it did not mean all networks.
  const isList = request.allow_cidrs !== undefined || request.allow_domains !== undefined;
  const mode = request.mode ?? (isList ? "deny_all" : (settings?.defaultMode ?? "allow_all"));
  refuseContradictions(field, { mode, allowed, ports, allowedDomains });
  refuseUnreachable(allowed);
  if (settings !== undefined) refuseUngranted(allowed, settings.privateCidrs);
  const names = { mode, allowed: allowedDomains, denied: deniedDomains };
  const inject = readInject(field, request.inject, names);
  return {
    mode,
    allow_cidrs: canonicalCidrs(allowed),
    deny_cidrs: canonicalCidrs(denied),
    allow_ports: ports,
    ...unlessEmpty({ allow_domains: allowedDomains, deny_domains: deniedDomains, inject }),
    dns: request.dns ?? (mode === "allow_all" || allowedDomains.length > 0),
  };
}

function unlessEmpty<Lists extends Readonly<Record<string, readonly unknown[]>>>(
  lists: Lists,
): Partial<Lists> {
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)) as Partial<Lists>;
}

interface Lists {
  readonly mode: Egress["mode"];
  readonly allowed: readonly Cidr[];
  readonly ports: readonly number[];
  readonly allowedDomains: readonly string[];
}

function refuseContradictions(
  field: (name: string) => string,
  { mode, allowed: [firstAllowed], ports: [firstPort], allowedDomains: [firstDomain] }: Lists,
): void {
  if (mode === "allow_all" && firstAllowed !== undefined)
    throw contradiction({ field, list: "allow_cidrs", value: formatCidr(firstAllowed) });
  if (mode === "allow_all" && firstDomain !== undefined)
    throw contradiction({ field, list: "allow_domains", value: firstDomain });
  if (firstPort !== undefined && firstAllowed === undefined && firstDomain === undefined) {
    throw new SkerryError("egress_conflict", `Port ${firstPort} is allowed, but no CIDR or domain is.`, {
      remediation: `Ports restrict "${field("allow_cidrs")}" and "${field("allow_domains")}"; in the former, "0.0.0.0/0" is every network.`,
      context: { field: field("allow_ports"), value: firstPort },
    });
  }
}

function contradiction({
  field,
  list,
  value,
}: {
  readonly field: (name: string) => string;
  readonly list: "allow_cidrs" | "allow_domains";
  readonly value: string;
}): SkerryError {
  const noun = list === "allow_cidrs" ? "CIDR" : "domain";
  return new SkerryError(
    "egress_conflict",
    `The mode "allow_all" contradicts the allowed ${noun} "${value}".`,
    {
      remediation: `Leave out "${field("mode")}" to allow only the ${noun}s, or "${field(list)}" to allow everything.`,
      context: { field: field(list), value, mode: "allow_all" },
    },
  );
}

/** A network, and where in the request it came from. */
interface Entry extends Cidr {
  readonly field: string;
}

/** The policy of something new, as soon as the organization's settings are known. */
export type EgressParams = (settings: EgressSettings) => Egress;

export function readEgressParams(request: EgressRequest = {}): EgressParams {
  readEgress(request, "egress");
  return (settings) => readEgress(request, "egress", settings);
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
    const is = whyNever(entry);
    if (is === undefined) continue;
    const value = formatCidr(entry);
    throw new SkerryError(
      "egress_conflict",
      `"${value}" in "${entry.field}" can never be reached from a sandbox: it is ${is}.`,
      { remediation: "Leave it out.", context: { field: entry.field, value } },
    );
  }
}

/** A network that is private and nothing else. A wider one is accepted: it opens what it has of public addresses and of the grants. */
function refuseUngranted(allowed: readonly Entry[], granted: readonly string[]): void {
  const grants = granted.map(cidrOf);
  for (const entry of allowed) {
    if (!isPrivate(entry) || covers(grants, entry)) continue;
    const value = formatCidr(entry);
    throw new SkerryError(
      "egress_forbidden",
      `"${value}" in "${entry.field}" is a private network, which has not been granted to this organization.`,
      {
        remediation:
          "Ask the operator of the platform, who grants it with `skerry set-private-cidrs`; `allowed_private_cidrs` of the organization lists what is granted.",
        context: { field: entry.field, value },
      },
    );
  }
}
