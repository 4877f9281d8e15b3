// The rules of the machine itself about all slots of this host: they hold even where a slot's own rules are
// gone.

export interface RootFacts {
  /** Name of the table. */
  readonly table: string;
  /** What the names of all links to slots begin with. */
  readonly linkPrefix: string;
  readonly slotRange: string;
  readonly resolver: { readonly address: string; readonly port: number };
}

/** Replaces the table whole. `accept` ends only the chain, so other firewalls on the machine still have
 *  their say. */
export function rootRulesScript({ table, linkPrefix, slotRange, resolver }: RootFacts): string {
  const links = `"${linkPrefix}*"`;
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
    ip daddr ${resolver.address} meta l4proto { tcp, udp } th dport ${resolver.port} accept
    fib daddr type local drop
  }
  chain input {
    type filter hook input priority -10; policy accept;
    iifname != ${links} accept
    ip daddr ${resolver.address} meta l4proto { tcp, udp } th dport ${resolver.port} accept
    drop
  }
  chain forward {
    type filter hook forward priority -10; policy accept;
    iifname ${links} ip daddr ${slotRange} drop
    iifname ${links} oifname ${links} drop
    oifname ${links} ct direction original drop
    oifname ${links} ct state invalid,untracked drop
  }
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
