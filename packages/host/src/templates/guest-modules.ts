// Modules of Debian's kernel that a guest has. A guest has no others, and its own `modprobe` finds none: all
// of them are in memory when it is up, so that a clone has them as its template does.

/** Modules for the root disk, the network and the host, each after those that it needs: `virtio_ring` before
 *  `virtio`, `failover` before `net_failover`. */
export const GUEST_MODULES: readonly string[] = [
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
