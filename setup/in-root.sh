#!/usr/bin/env bash
# Runs a command in another system's root, as a container would: `in-root.sh ROOT COMMAND...`. It has a mount table and a process table of
# its own, whose end is the end of all that it started, and no variable but those that it is given with `env`. Kernel, network and devices are
# this machine's.

set -euo pipefail

inside() {
  local root=$1 place
  shift
  while read -r _ _ _ _ place _; do
    [ "$place" = /run/netns ] || mount --make-private "$place" 2>/dev/null || true
  done </proc/self/mountinfo
  mount --bind "$root" "$root"
  mount --make-private "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs -o mode=0755 run "$root/run"
  # Names of network namespaces are the machine's, as its links and addresses are. They stay shared in the new place only: what is taken away
  # of the old one must not be taken from the machine.
  if mountpoint -q /run/netns; then
    mkdir "$root/run/netns"
    mount --rbind /run/netns "$root/run/netns"
    mount --make-rprivate /run/netns
  fi
  cat /etc/resolv.conf >"$root/etc/resolv.conf"
  cd "$root"
  pivot_root . mnt
  umount -l /mnt
  # Not exec: the first process of a process table is the parent of all orphans, and a shell takes note of their end.
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"
}

# With its exit, so that the file may change while it runs.
case $1 in
  --inside) shift; inside "$@"; exit ;;
  # Not private throughout: /run/netns is shared with this machine.
  *) exec unshare --mount --propagation unchanged --pid --fork --kill-child bash "$0" --inside "$@" ;;
esac
