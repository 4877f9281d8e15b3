// Other hosts that the proxy in front of apps may connect to.

import { loadRules } from "./netns-exec.ts";

/** Name of the set in the table of the machine's own rules. */
const PEERS_SET = "edge_peers";

/** Lets it connect to these, each IPv4:PORT, and to no others. */
export async function allowPeers(table: string, peers: readonly string[]): Promise<void> {
  const set = `inet ${table} ${PEERS_SET}`;
  await loadRules(
    `flush set ${set}\n${peers.length === 0 ? "" : `add element ${set} ${peerElements(peers)}\n`}`,
  );
}

function peerElements(peers: readonly string[]): string {
  return `{ ${[...new Set(peers)].map((peer) => peer.replace(":", " . ")).join(", ")} }`;
}

export interface EdgeFacts {
  /** Beginning of the names of all links to slots. */
  readonly linkPrefix: string;
  /** The user of the proxy in front of apps. */
  readonly edgeUid: number;
  /** Other hosts that it may connect to, each IPv4:PORT. */
  readonly edgePeers: readonly string[];
}

/** Its part of the machine's own rules. */
export function edgeRules({ linkPrefix, edgeUid, edgePeers }: EdgeFacts): string {
  return `  set ${PEERS_SET} {
    type ipv4_addr . inet_service${edgePeers.length === 0 ? "" : `; elements = ${peerElements(edgePeers)}`}
  }
  # Reach of the proxy in front of apps by itself, should a client or a guest have taken it over: slots, whose own rules pass what is published,
  # and other hosts' doors, which ask for a certificate.
  chain edge_proxy {
    type filter hook output priority -10; policy accept;
    ip daddr . tcp dport @${PEERS_SET} accept
    meta skuid ${edgeUid} ct direction original oifname != "${linkPrefix}*" drop
  }`;
}
