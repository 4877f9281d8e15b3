// A policy as nftables rules, computed and never run here. The script replaces the table whole, in one
// transaction, so there is no moment with half a policy.
//
// Every packet, of both directions, is decided anew by the destination that its connection had at first (`ct
// original`), so a live change cuts connections that it forbids. The order of decision is the contract's.

import { hasDomains, type HostEgress } from "@skerry/contract/vms/egress";
import { neverNetworks, openPrivateCidrs, privateNetworks } from "@skerry/contract/vms/networks";
import { DNS_PORT, GATEWAY_ADDRESS, TAP } from "./guest-link.ts";
import { proxyPorts } from "./name-proxy-protocol.ts";
import { NAMED_MAX, namedMark, opensByName } from "./named-addresses.ts";
import { denyMarks, PASS_MARK } from "./packet-marks.ts";

export const POLICY_TABLE = "skerry_policy";

/** What one guest sends and receives through the name proxy, which has one processor for all guests. New connections are limited by the
 *  base rules. */
const LOOKUP_PACKETS = { perSecond: 500, burst: 1_000 } as const;
const PROXIED_MBYTES = { perSecond: 100, burst: 20 } as const;

/** What a policy is compiled against. */
export interface PolicyFacts {
  /** This machine's own addresses, IPv4. */
  readonly hostAddresses: readonly string[];
  /** The range of addresses that all slots of this host are in. */
  readonly slotRange: string;
  /** Networks that this machine's operator keeps from all guests. */
  readonly neverCidrs: readonly string[];
  readonly resolver: { readonly address: string; readonly port: number };
  /** The first port of the name proxy, on the resolver's address. */
  readonly nameProxyPort: number;
}

/** `first`: for a slot that has no policy yet; refused by the kernel where it has one. A program that
 *  deletes a table waits some 10 ms until the kernel no longer uses it; a new sandbox has none to delete. */
export function policyRulesScript(policy: HostEgress, facts: PolicyFacts, load: "first" | "replace"): string {
  const never = [
    ...neverNetworks.map(({ cidr }) => cidr),
    ...facts.neverCidrs,
    facts.slotRange,
    ...facts.hostAddresses,
  ];
  return [
    ...(load === "first"
      ? [`create table inet ${POLICY_TABLE}`]
      : [`table inet ${POLICY_TABLE} {}`, `delete table inet ${POLICY_TABLE}`]),
    `table inet ${POLICY_TABLE} {`,
    ...networkSet("never", never),
    ...networkSet("private_networks", privateNetworks),
    ...networkSet("private_cidrs", openPrivateCidrs(policy)),
    ...networkSet("deny_cidrs", policy.deny_cidrs),
    ...networkSet("allow_cidrs", policy.allow_cidrs),
    ...portSet(policy.allow_ports),
    ...(opensByName(policy)
      ? [`  set named {`, `    type ipv4_addr; flags timeout; size ${NAMED_MAX};`, "  }"]
      : []),
    "  chain verdict {",
    "    type filter hook forward priority 0; policy accept;",
    ...decisions(policy, facts).map((rule) => `    ${rule}`),
    "  }",
    ...(policy.dns ? resolverChain(policy, facts) : []),
    ...(hasDomains(policy) ? nameChain(policy, facts) : []),
    "}",
    "",
  ].join("\n");
}

function decisions(policy: HostEgress, facts: PolicyFacts): string[] {
  return [
    ...lookups(policy, facts),
    `ct original ip daddr @never ${refusedBy("never")}`,
    `ct original ip daddr @deny_cidrs ${refusedBy("deny_cidr")}`,
    `ct original ip daddr @private_networks ct original ip daddr != @private_cidrs ${refusedBy("private_network")}`,
    ...allowed(policy),
    `ct original ip daddr @private_networks ${refusedBy("private_network")}`,
    ...(hasDomains(policy) ? byName(policy, facts) : []),
    policy.mode === "allow_all" ? passes : refusedBy("deny_all"),
  ];
}

/** A client that keeps its port must not go on asking where an earlier policy has led it. */
function lookups(policy: HostEgress, facts: PolicyFacts): string[] {
  const toGateway = `ct original ip daddr ${GATEWAY_ADDRESS}`;
  if (!policy.dns) return [`${toGateway} ${refusedBy("dns")}`];
  if (!hasDomains(policy)) return [`${toGateway} ${passes}`];
  const { dns } = proxyPorts(facts.nameProxyPort);
  return [
    `${toGateway} iifname ${TAP} limit rate over ${LOOKUP_PACKETS.perSecond}/second burst ${LOOKUP_PACKETS.burst} packets drop`,
    ...["udp", "tcp"].map(
      (protocol) => `${toGateway} meta l4proto ${protocol} ct reply proto-src ${dns} ${passes}`,
    ),
    `${toGateway} ${refusedBy("dns")}`,
  ];
}

/** What was not led to the name proxy by its first packet began under an earlier policy. */
function byName(policy: HostEgress, { resolver, nameProxyPort }: PolicyFacts): string[] {
  const { tls, http } = proxyPorts(nameProxyPort);
  const throughProxy = `meta l4proto tcp ct reply ip saddr ${resolver.address} ct reply proto-src { ${tls}, ${http} }`;
  return [
    `${throughProxy} limit rate over ${PROXIED_MBYTES.perSecond} mbytes/second burst ${PROXIED_MBYTES.burst} mbytes drop`,
    `${throughProxy} ${passes}`,
    `meta l4proto tcp ct original proto-dst { 80, 443 } ${refusedBy("no_domain")}`,
    `meta l4proto udp ct original proto-dst 443 ${refusedBy("no_domain")}`,
    ...(policy.allow_ports.length > 0 ? [`ct original ip daddr @allow_cidrs ${refusedBy("port")}`] : []),
    ...(opensByName(policy) ? byNamedAddress(policy) : []),
  ];
}

/** A connection to an address that a name has led to. What has begun is known by its mark, and goes on when the address is not open any more. One that
 *  began under an earlier policy is let on again once this policy has opened its address. */
function byNamedAddress(policy: HostEgress): string[] {
  const mark = namedMark(policy);
  const ports = policy.allow_ports.length > 0 ? " meta l4proto tcp ct original proto-dst @allow_ports" : "";
  return [
    `ct mark ${mark} ${passes}`,
    `ct original ip daddr @named${ports} ct direction original ct mark set ${mark} ${passes}`,
  ];
}

function allowed(policy: HostEgress): string[] {
  if (policy.allow_ports.length === 0) return [`ct original ip daddr @allow_cidrs ${passes}`];
  return [
    `ct original ip daddr @allow_cidrs meta l4proto tcp ct original proto-dst @allow_ports ${passes}`,
    // "Fragmentation needed" and its like answer a connection; the guest has no way to send with them.
    `ct original ip daddr @allow_cidrs ct original protocol tcp ct state related ct direction reply ${passes}`,
    // Where names decide, they may still open the ports of HTTP and TLS.
    ...(hasDomains(policy) ? [] : [`ct original ip daddr @allow_cidrs ${refusedBy("port")}`]),
  ];
}

const passes = `meta mark set ${PASS_MARK} accept`;

function refusedBy(rule: keyof typeof denyMarks): string {
  return `meta mark set ${denyMarks[rule]} accept`;
}

function resolverChain(policy: HostEgress, { resolver, nameProxyPort }: PolicyFacts): string[] {
  const port = hasDomains(policy) ? proxyPorts(nameProxyPort).dns : resolver.port;
  return [
    "  chain resolver {",
    "    type nat hook prerouting priority dstnat; policy accept;",
    `    iifname ${TAP} ip daddr ${GATEWAY_ADDRESS} meta l4proto { tcp, udp } th dport ${DNS_PORT} ` +
      `dnat ip to ${resolver.address}:${port}`,
    "  }",
  ];
}

/** Leads to the name proxy what names decide. It passes over what addresses decide. */
function nameChain(policy: HostEgress, { resolver, nameProxyPort }: PolicyFacts): string[] {
  const { tls, http } = proxyPorts(nameProxyPort);
  const ports = policy.allow_ports.length > 0 ? " tcp dport @allow_ports" : "";
  return [
    "  chain names {",
    "    type nat hook prerouting priority dstnat; policy accept;",
    `    iifname != ${TAP} accept`,
    "    meta l4proto != tcp accept",
    "    ip daddr @never accept",
    "    ip daddr @deny_cidrs accept",
    "    ip daddr @private_networks accept",
    `    ip daddr @allow_cidrs${ports} accept`,
    `    tcp dport 443 dnat ip to ${resolver.address}:${tls}`,
    `    tcp dport 80 dnat ip to ${resolver.address}:${http}`,
    "  }",
  ];
}

function networkSet(name: string, networks: readonly string[]): string[] {
  return [`  set ${name} {`, "    type ipv4_addr; flags interval; auto-merge;", ...elements(networks), "  }"];
}

function portSet(ports: readonly number[]): string[] {
  return ["  set allow_ports {", "    type inet_service;", ...elements(ports.map(String)), "  }"];
}

function elements(values: readonly string[]): string[] {
  return values.length === 0 ? [] : [`    elements = { ${values.join(", ")} }`];
}
