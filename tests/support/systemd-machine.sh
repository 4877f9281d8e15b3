#!/bin/bash
# Process 1 of a machine for one test: systemd, on a copy-on-write view of this machine's root. Run in mount, pid, cgroup, ipc, uts and network
# namespaces of its own. UPPER: a file system for what it writes, which outlives a "reboot"; then folders that it shares.
set -euo pipefail
upper=$1
shift
mount --make-rprivate /
mkdir -p "$upper/changes" "$upper/work" "$upper/root"
root=$upper/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$upper/changes,workdir=$upper/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
  mknod -m 666 "$root/dev/$device" c "$((16#$(stat -c %t "/dev/$device")))" "$((16#$(stat -c %T "/dev/$device")))"
done
mkdir "$root/dev/net" "$root/dev/pts" "$root/dev/shm"
mknod "$root/dev/net/tun" c 10 200
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
for shared in "$@"; do
  mkdir -p "$root$shared"
  mount --bind "$shared" "$root$shared"
done
# As the machine itself has them: one tree, or one for controllers of version 1 and one that systemd keeps its units in.
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
  mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
  mkdir "$root/sys/fs/cgroup/systemd" "$root/sys/fs/cgroup/unified"
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup/unified"
  mount -t cgroup -o none,name=systemd,xattr cgroup "$root/sys/fs/cgroup/systemd"
fi
# What would change the machine around it, or waits for devices that there are not.
for unit in systemd-sysctl systemd-modules-load systemd-udevd systemd-udev-trigger systemd-networkd systemd-networkd-wait-online systemd-resolved \
  systemd-timesyncd ssh cron docker containerd nftables ufw getty@tty1 console-getty postgresql apt-daily apt-daily-upgrade; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit.service"
done
# What is shared below /tmp is not to be cleaned up.
mkdir -p "$root/etc/tmpfiles.d"
ln -sf /dev/null "$root/etc/tmpfiles.d/tmp.conf"
ip link set lo up
cd "$root"
mkdir -p before
pivot_root . before
cd /
umount -l /before
[ -s /etc/machine-id ] || systemd-machine-id-setup >/dev/null
exec env -i container=skerry-test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=multi-user.target --show-status=0
