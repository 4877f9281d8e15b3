// The rules of the machine itself about all slots of this host: they hold even where a slot's own rules are
// gone.

import { edgeRules, type EdgeFacts } from "./edge-peers.ts";
import { proxyPorts } from "./name-proxy-protocol.ts";

export interface RootFacts extends EdgeFacts {
  /** Name of the table. */
  readonly table: string;
  readonly slotRange: string;
  readonly resolver: { readonly address: string; readonly port: number };
  readonly nameProxy: RootNameProxy;
}

export interface RootNameProxy {
  /** The first of its ports, on the resolver's address. */
  readonly port: number;
  readonly uid: number;
  /** Networks that no name leads to. */
  readonly neverCidrs: readonly string[];
  /** Ports of the name servers that it asks. */
  readonly serverPorts: readonly number[];
}

/** The only connections that this machine makes to slots are those of the proxy in front of apps. */
const answers = "ct direction reply ct state established accept";

/** Replaces the table whole. `accept` ends only the chain, so other firewalls on the machine still have
 *  their say. */
export function rootRulesScript(facts: RootFacts): string {
  const { table, linkPrefix, slotRange, resolver, nameProxy } = facts;
  const links = `"${linkPrefix}*"`;
  const { dns, tls, http } = proxyPorts(nameProxy.port);
  const doors = [
    answers,
    `ip daddr ${resolver.address} meta l4proto { tcp, udp } th dport { ${resolver.port}, ${dns} } accept`,
    `iifname ${links} ip daddr ${resolver.address} tcp dport { ${tls}, ${http} } accept`,
  ].join("\n    ");
  return `table inet ${table} {}
delete table inet ${table}
table inet ${table} {
  chain source {
    type filter hook prerouting priority -10; policy accept;
    iifname ${links} meta nfproto != ipv4 drop
    iifname ${links} ip saddr != ${slotRange} drop
    iifname ${links} fib saddr . iif oif missing drop
  }
  # Before any program of this machine translates destinations: a published port of a container is forwarded and never meets the input
  # chain, and a slot that was opened before the machine got the address does not know it.
  chain own_addresses {
    type filter hook prerouting priority -150; policy accept;
    iifname != ${links} accept
    ${doors}
    fib daddr type local drop
  }
  chain input {
    type filter hook input priority -10; policy accept;
    iifname != ${links} accept
    ${doors}
    drop
  }
  chain forward {
    type filter hook forward priority -10; policy accept;
    iifname ${links} ip daddr ${slotRange} drop
    iifname ${links} oifname ${links} drop
    oifname ${links} ct direction original drop
    oifname ${links} ct state invalid,untracked drop
  }
  # What the name proxy's process may reach by itself, should a guest have taken it over: name servers, and public addresses.
  set never_by_name {
    type ipv4_addr; flags interval; auto-merge;
    elements = { ${[...nameProxy.neverCidrs, slotRange].join(", ")} }
  }
  chain by_name {
    ct direction reply accept
    meta l4proto { tcp, udp } th dport { ${[...new Set(nameProxy.serverPorts)].join(", ")} } accept
    meta nfproto != ipv4 drop
    ip daddr @never_by_name drop
    fib daddr type local drop
    tcp dport { 80, 443 } accept
    drop
  }
  # Not the other way around: a packet of a socket that its process has closed has no user, and neither \`==\` nor \`!=\` holds for it.
  chain name_proxy {
    type filter hook output priority -10; policy accept;
    meta skuid ${nameProxy.uid} jump by_name
  }
${edgeRules(facts)}
  chain translate {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${slotRange} oifname != ${links} oifname != "lo" masquerade
  }
}
`;
}

export function removeRootRulesScript(table: string): string {
  return `table inet ${table} {}\ndelete table inet ${table}\n`;
}
