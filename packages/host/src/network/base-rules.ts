// The rules that a slot has from before its first link until its end, under every policy: which sender is
// allowed, in which direction, how much, and what happens to a packet that the policy refused. They pass
// nothing that the policy has not marked, so no policy is the strictest one, and counters, limits and denials
// outlive a change of policy.

import type { AddressPair } from "./addresses.ts";
import { DNS_PORT, GATEWAY_ADDRESS, GUEST_ADDRESS, GUEST_MAC, TAP, UPLINK } from "./guest-link.ts";
import { denyMarks, packetRules, PASS_MARK, type DenyRule } from "./packet-marks.ts";

export const BASE_TABLE = "skerry_base";
/** Ports of the guest that this machine may connect to. */
export const PUBLISHED_SET = "published";

/** A guest that opens connections faster waits; a burst is what a page with many parts or a package
 *  manager needs. */
export const NEW_FLOWS_PER_S = 200;
export const NEW_FLOWS_BURST = 400;
/** Destinations that one rule remembers. When it is full, new ones are refused without being remembered. */
const DENIALS_PER_RULE = 256;
export const DENIAL_MEMORY_S = 3_600;

/** Refused destinations are kept per rule, once with their port and once for protocols that have none. */
export function denialSets(rule: DenyRule): { readonly ports: string; readonly others: string } {
  return { ports: `denied_${rule}`, others: `denied_${rule}_other` };
}

/** `slot` is what the guest's packets carry beyond the slot, and `gateway` this machine's end of the link;
 *  `connections` is how many the guest may have at once. */
export function baseRulesScript({ slot, gateway }: AddressPair, connections: number): string {
  return [
    `table inet ${BASE_TABLE} {`,
    `  set ${PUBLISHED_SET} { type inet_service; }`,
    "  counter sent {}",
    "  counter received {}",
    "  counter denied {}",
    ...packetRules.flatMap(denialRules),
    refuseChain,
    passChain(connections),
    forwardChain(),
    localChains,
    sourceChain(slot),
    publishChain(slot, gateway),
    "}",
    pinTable,
    "",
  ].join("\n");
}

function denialRules(rule: DenyRule): string[] {
  const { ports, others } = denialSets(rule);
  const memory = `flags dynamic,timeout; timeout ${DENIAL_MEMORY_S}s; size ${DENIALS_PER_RULE};`;
  return [
    `  set ${ports} { type ipv4_addr . inet_proto . inet_service; ${memory} }`,
    `  set ${others} { type ipv4_addr . inet_proto; ${memory} }`,
    // A full set ends the rule that adds to it, so nothing may stand behind an update.
    `  chain deny_${rule} {`,
    `    iifname != ${TAP} drop`,
    // Of all rules together, and read by `native/slot-denials.c`.
    "    counter name denied",
    `    meta l4proto { tcp, udp } update @${ports} { ct original ip daddr . meta l4proto . th dport counter }`,
    `    meta l4proto != { tcp, udp } update @${others} { ct original ip daddr . meta l4proto counter }`,
    "    goto refuse",
    "  }",
  ];
}

/** A refusal is told to the guest at once: nothing leaves the slot for it. */
const refuseChain = `  chain refuse {
    iifname != ${TAP} drop
    meta l4proto tcp reject with tcp reset
    reject with icmp type admin-prohibited
  }`;

/** Both limits look at a connection's first packet only. */
function passChain(connections: number): string {
  return `  chain pass {
    iifname ${TAP} ct status ! confirmed limit rate over ${NEW_FLOWS_PER_S}/second burst ${NEW_FLOWS_BURST} packets goto deny_rate_limit
    iifname ${TAP} ct status ! confirmed ct count over ${connections} goto deny_connection_limit
    iifname ${TAP} counter name sent accept
    iifname ${UPLINK} counter name received accept
  }`;
}

/**
 * Connections that this machine has made to a published port, with their answers. A guest cannot begin one,
 * since only packets that came by the link are translated to its address. The guest's policy is about its own
 * connections, and does not bear on these.
 */
const inwards = `iifname ${UPLINK} oifname ${TAP} ct direction original ct status dnat counter name received accept
    iifname ${TAP} oifname ${UPLINK} ct direction reply ct status dnat ct state established counter name sent accept`;

function publishChain(slot: string, gateway: string): string {
  return `  chain publish {
    type nat hook prerouting priority dstnat; policy accept;
    iifname ${UPLINK} ip saddr ${gateway} ip daddr ${slot} tcp dport @${PUBLISHED_SET} dnat ip to ${GUEST_ADDRESS}
  }`;
}

/**
 * Runs behind the policy's chain. Inwards only answers pass, and what is published. A guest that was paused,
 * or is a fork, holds connections that this slot does not know: they are reset, because the kernel would pick
 * them up in the middle, and a fork's would be its origin's. A datagram from port 0 can have no answer, and
 * programs that try to answer it fail.
 */
function forwardChain(): string {
  const meanings = Object.entries(denyMarks).map(([rule, mark]) => `${mark} : goto deny_${rule}`);
  return `  chain forward {
    type filter hook forward priority 10; policy drop;
    ${inwards}
    iifname ${UPLINK} ct direction != reply drop
    iifname . oifname != { ${TAP} . ${UPLINK}, ${UPLINK} . ${TAP} } drop
    meta nfproto != ipv4 drop
    ct state invalid,untracked drop
    iifname ${TAP} udp sport 0 drop
    iifname ${TAP} meta l4proto tcp ct status ! confirmed tcp flags & (fin | syn | rst | ack) != syn goto refuse
    meta mark vmap { ${[`${PASS_MARK} : goto pass`, ...meanings].join(", ")} }
  }`;
}

/** Towards the slot itself nothing is open; a name query that gets here was not sent on by a policy. From
 *  the slot itself come refusals and the kernel's own words about a guest's packet. */
const localChains = `  chain unroutable {
    type filter hook prerouting priority 0; policy accept;
    iifname ${TAP} ip daddr { 0.0.0.0/8, 127.0.0.0/8, 224.0.0.0/4, 255.255.255.255 } jump deny_never
    iifname ${TAP} ip daddr { 0.0.0.0/8, 127.0.0.0/8, 224.0.0.0/4, 255.255.255.255 } drop
  }
  chain input {
    type filter hook input priority 0; policy drop;
    iifname ${TAP} ip daddr ${GATEWAY_ADDRESS} meta l4proto { tcp, udp } th dport ${DNS_PORT} goto deny_dns
    iifname ${TAP} goto deny_never
  }
  chain output {
    type filter hook output priority 0; policy drop;
    oifname ${TAP} ip daddr ${GUEST_ADDRESS} tcp flags & rst == rst accept
    oifname ${TAP} ip daddr ${GUEST_ADDRESS} icmp type { destination-unreachable, time-exceeded } accept
  }`;

function sourceChain(slotAddress: string): string {
  return `  chain source {
    type nat hook postrouting priority srcnat; policy accept;
    oifname ${UPLINK} ip saddr ${GUEST_ADDRESS} snat ip to ${slotAddress}
  }`;
}

/** What comes out of the TAP is the guest's IPv4 with the guest's own addresses, or its question for the
 *  gateway's MAC. */
const pinTable = `table netdev ${BASE_TABLE} {
  chain pin {
    type filter hook ingress device "${TAP}" priority -500; policy drop;
    ether saddr != ${GUEST_MAC} drop
    ether type ip ip saddr ${GUEST_ADDRESS} accept
    ether type arp arp htype 1 arp ptype ip arp plen 4 arp saddr ether ${GUEST_MAC} arp saddr ip ${GUEST_ADDRESS} arp daddr ip ${GATEWAY_ADDRESS} accept
  }
}`;
