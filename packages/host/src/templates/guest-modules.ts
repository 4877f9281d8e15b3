// Modules of Debian's kernel that a guest has. It has no others: each takes memory of every guest.

/** Modules for the root disk, the network and the host, each after those that it needs: `virtio_ring` before
 *  `virtio`, `failover` before `net_failover`. The agent loads them at boot, so that a clone has them as its
 *  template does. */
export const BOOT_MODULES: readonly string[] = [
  "drivers/virtio/virtio_ring",
  "drivers/virtio/virtio",
  "drivers/virtio/virtio_mmio",
  "drivers/char/virtio_console",
  "drivers/block/virtio_blk",
  "net/core/failover",
  "drivers/net/net_failover",
  "drivers/net/virtio_net",
  "drivers/virtio/virtio_balloon",
  // For builds, whose file systems lie in layers, and for containers in a guest.
  "fs/overlayfs/overlay",
];

const OF_INTERFACES = [
  ...["tun", "tap", "veth", "dummy", "macvlan", "ipvlan/ipvlan", "vxlan/vxlan", "wireguard/wireguard"].map(
    (name) => `drivers/net/${name}`,
  ),
  ...["8021q/8021q", "bridge/bridge", "bridge/br_netfilter"].map((name) => `net/${name}`),
];

/** Loop devices, FUSE, and the file systems of images that are mounted. ext4 is built in. */
const OF_FILES = [
  "drivers/block/loop",
  ...["fuse/fuse", "squashfs/squashfs", "isofs/isofs", "fat/vfat"].map((name) => `fs/${name}`),
  // Code pages that vfat asks for by default.
  ...["nls_cp437", "nls_ascii", "nls_utf8"].map((name) => `fs/nls/${name}`),
];

const OF_NFTABLES = [
  ...["nf_tables", "nf_conntrack_netlink", "nfnetlink_log", "nfnetlink_queue", "nf_log_syslog"],
  ...["nft_chain_nat", "nft_compat", "nft_connlimit", "nft_ct", "nft_fib_inet", "nft_hash", "nft_limit"],
  ...["nft_log", "nft_masq", "nft_nat", "nft_numgen", "nft_objref", "nft_queue", "nft_quota", "nft_redir"],
  ...["nft_reject_inet", "nft_socket", "nft_tproxy"],
].map((name) => `net/netfilter/${name}`);

const OF_IPTABLES = [
  ...["addrtype", "bpf", "cgroup", "comment", "connlimit", "connmark", "conntrack", "hashlimit", "iprange"],
  ...[
    "length",
    "limit",
    "mac",
    "mark",
    "multiport",
    "nat",
    "owner",
    "physdev",
    "pkttype",
    "recent",
    "socket",
  ],
  ...["state", "statistic", "string", "tcpmss", "tcpudp", "CHECKSUM", "CT", "LOG", "MASQUERADE", "NFLOG"],
  ...["NFQUEUE", "REDIRECT", "TCPMSS", "TPROXY"],
].map((name) => `net/netfilter/xt_${name}`);

const OF_BOTH_FAMILIES = ["filter", "mangle", "nat", "raw"].flatMap((table) => [
  `net/ipv4/netfilter/iptable_${table}`,
  `net/ipv6/netfilter/ip6table_${table}`,
]);

/**
 * Modules that the guest's kernel loads when a program first needs one, with those that they need in turn.
 */
export const ON_DEMAND_MODULES: readonly string[] = [
  ...[...OF_INTERFACES, ...OF_FILES, ...OF_NFTABLES, ...OF_IPTABLES, ...OF_BOTH_FAMILIES],
  ...["net/ipv4/netfilter/ipt_REJECT", "net/ipv6/netfilter/ip6t_REJECT"],
  // xt_string's and nft's ways to look for a text.
  ...["lib/ts_bm", "lib/ts_kmp"],
];
