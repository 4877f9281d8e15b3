// A policy as nftables rules, computed and never run here. The script replaces the table whole, in one
// transaction, so there is no moment with half a policy.
//
// Every packet, of both directions, is decided anew by the destination that its connection had at first (`ct
// original`), so a live change cuts connections that it forbids. The order of decision is the contract's.

import type { HostEgress } from "@skerry/contract/vms/egress";
import { neverNetworks, openPrivateCidrs, privateNetworks } from "@skerry/contract/vms/networks";
import { DNS_PORT, GATEWAY_ADDRESS, TAP } from "./guest-link.ts";
import { denyMarks, PASS_MARK } from "./packet-marks.ts";

export const POLICY_TABLE = "skerry_policy";

/** What a policy is compiled against. */
export interface PolicyFacts {
  /** This machine's own addresses, IPv4. */
  readonly hostAddresses: readonly string[];
  /** The range of addresses that all slots of this host are in. */
  readonly slotRange: string;
  /** Networks that this machine's operator keeps from all guests. */
  readonly neverCidrs: readonly string[];
  readonly resolver: { readonly address: string; readonly port: number };
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
    "  chain verdict {",
    "    type filter hook forward priority 0; policy accept;",
    ...decisions(policy).map((rule) => `    ${rule}`),
    "  }",
    ...(policy.dns ? resolverChain(facts) : []),
    "}",
    "",
  ].join("\n");
}

function decisions(policy: HostEgress): string[] {
  return [
    `ct original ip daddr ${GATEWAY_ADDRESS} ${policy.dns ? passes : refusedBy("dns")}`,
    `ct original ip daddr @never ${refusedBy("never")}`,
    `ct original ip daddr @deny_cidrs ${refusedBy("deny_cidr")}`,
    `ct original ip daddr @private_networks ct original ip daddr != @private_cidrs ${refusedBy("private_network")}`,
    ...allowed(policy),
    `ct original ip daddr @private_networks ${refusedBy("private_network")}`,
    policy.mode === "allow_all" ? passes : refusedBy("deny_all"),
  ];
}

function allowed(policy: HostEgress): string[] {
  if (policy.allow_ports.length === 0) return [`ct original ip daddr @allow_cidrs ${passes}`];
  return [
    `ct original ip daddr @allow_cidrs meta l4proto tcp ct original proto-dst @allow_ports ${passes}`,
    // "Fragmentation needed" and its like answer a connection; the guest has no way to send with them.
    `ct original ip daddr @allow_cidrs ct original protocol tcp ct state related ct direction reply ${passes}`,
    `ct original ip daddr @allow_cidrs ${refusedBy("port")}`,
  ];
}

const passes = `meta mark set ${PASS_MARK} accept`;

function refusedBy(rule: keyof typeof denyMarks): string {
  return `meta mark set ${denyMarks[rule]} accept`;
}

function resolverChain({ resolver }: PolicyFacts): string[] {
  return [
    "  chain resolver {",
    "    type nat hook prerouting priority dstnat; policy accept;",
    `    iifname ${TAP} ip daddr ${GATEWAY_ADDRESS} meta l4proto { tcp, udp } th dport ${DNS_PORT} ` +
      `dnat ip to ${resolver.address}:${resolver.port}`,
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
