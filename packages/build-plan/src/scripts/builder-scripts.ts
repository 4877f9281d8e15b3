// What runs in the builder, a microVM that belongs to this one build. Each script is complete in itself: it mounts the disk that is built on,
// does one step, ends all that the step has started, and unmounts, so that the disk may be kept after any of them. It runs as process 1 of a
// PID namespace, with mounts of its own: when it ends, by whatever, the kernel kills and unmounts what is left.
//
// What a tenant's root may be made of (links, devices, no shell) is met by the builder's own programs, run by the builder's own loader with
// the template as their root directory: there no path leads out of it. A tenant can still take the builder over, and gains nothing: it is
// theirs alone, and the host trusts nothing that it says.

import { CONTEXT_ENTRIES_MAX, CONTEXT_PATH_MAX_BYTES } from "@skerry/contract/builds/context-bounds";
import { BUILD_DOCKERFILE, KEEP_CHANGES, KEEP_IMAGE, STAND_ON_TEMPLATE } from "./dockerfile-scripts.ts";
import { BUILDAH, COPY_IMAGE, MOUNT_IMAGE, PULL_ARCHIVE, PULL_BASES, PULL_IMAGE } from "./image-scripts.ts";
import { PACK_TEMPLATE, PUSH_IMAGE } from "./push-scripts.ts";
import { quoted } from "@skerry/contract/shell-words";

/** Where the context is unpacked. */
export const CONTEXT_FOLDER = "/context";

/** Of the ext4 file system that is made on an empty disk. */
export const EMPTY_DISK_GIB = 8;

/** What begins the last line of standard error where a script exits with 125: then comes a code, and a sentence. */
export const FAULT_PREFIX = "skerry-build: ";

/** Where a script finds disk, context and the guest's agent, where it tells (`told`) and works: `mount_disk` mounts the former at /mnt, and `check_disk` looks at it once
 *  it is unmounted. What is deleted is given back at once: a trim of all that is free would mark it in the layer, where it takes room. */
const IN_BUILDER = `
context=${CONTEXT_FOLDER}
agent=/proc/1/exe
told=/run/skerry-build
work=/var/tmp/skerry-work
root=$(mountpoint -d /)
disk=
for one in /sys/block/vd*; do
  [ "$(cat "$one/dev")" = "$root" ] && continue
  [ -z "$disk" ] || fault builder_failed "there is more than one disk to build on"
  disk=/dev/$(basename "$one")
done
[ -b "$disk" ] || fault builder_failed "there is no disk to build on"
mount_disk() {
  case $(blkid -p -s TYPE -o value "$disk") in
    ext4) ;;
    "") mkfs.ext4 -q -F -m 0 -L root -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 "$disk" ${EMPTY_DISK_GIB}G ||
      fault builder_failed "the disk could not be formatted" ;;
    *) fault builder_failed "the disk to build on has no ext4 file system" ;;
  esac
  mount -t ext4 -o noatime,discard "$disk" /mnt || fault builder_failed "the disk could not be mounted"
}
check_disk() {
  local said
  said=$(e2fsck -p "$disk" 2>&1)
  [ $? -le 1 ] || fault builder_failed "the file system of the disk is damaged: $(echo "$said" | tail -n 1)"
  blockdev --flushbufs "$disk"
}
`;

// A process that is not the first of its namespace would kill more than its own children at the end.
const BEGIN = `
set -u
fault() { echo "${FAULT_PREFIX}$1: $2" >&2; exit 125; }
[ $$ -eq 1 ] || fault builder_failed "the step has no namespace of its own"
`;

/** Opens the disk. From here on a script leaves by `end CODE`, or by `refuse SENTENCE` where the step cannot be done. */
const OPEN = `
within=
made=
root_time=
place_time=
# What a script has mounted that stands on the disk, and is not below it.
release() { :; }
unmount_all() {
  local tries=0
  until umount -R /mnt 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || fault builder_failed "the disk stays in use"
    sleep 0.1
  done
}
# Our own folder leaves no trace in the root directory's time of modification, unless the step has changed it too.
leave_place() { rmdir "/mnt$within" && { [ -z "$root_time" ] || touch -d "@$root_time" /mnt; }; }
end() {
  local blocks inodes full=
  kill -KILL -1 2>/dev/null
  release
  read -r blocks inodes <<<"$(stat -f -c "%a %d" /mnt)"
  [ -z "$within" ] || [ "$(stat -c %.9Y /mnt)" = "$place_time" ] || root_time=
  # A step that ran as root may have mounted more there.
  if [ -n "$within" ] && umount -R "/mnt$within" 2>/dev/null && leave_place 2>/dev/null; then within=; fi
  if [ "$1" -ne 0 ] && { [ "$blocks" -lt 64 ] || [ "$inodes" -eq 0 ]; }; then full=1; fi
  unmount_all
  if [ -n "$within$made" ]; then
    mount_disk
    [ -z "$within" ] || leave_place
    [ -z "$made" ] || rm -f "/mnt$made"
    unmount_all
  fi
  check_disk
  [ -z "$full" ] || fault disk_full "the template's disk is full"
  [ -z "\${2:-}" ] || fault "\${3:-step_invalid}" "$2"
  exit "$1"
}
refuse() { end 125 "$1"; }
mount_disk
`;

/** Who sends an archive need not have asked the command line what it may hold. */
const CHECK_CONTEXT = `
read -r context_entries has_long <<<"$(
  find "$context" -mindepth 1 -printf "%P\\0" 2>/dev/null | tr "\\n\\0" "x\\n" |
    LC_ALL=C awk 'length > ${CONTEXT_PATH_MAX_BYTES} { long = 1 } END { print NR, long + 0 }'
)"
[ "$context_entries" -le ${CONTEXT_ENTRIES_MAX} ] ||
  fault context_too_large "the context has $context_entries entries, and may have ${CONTEXT_ENTRIES_MAX}"
[ "$has_long" -eq 0 ] ||
  fault context_too_large "the context has a path of more than ${CONTEXT_PATH_MAX_BYTES} bytes"
`;

/** Has `tool PROGRAM ARGUMENTS` run a program of the builder with the disk as its root directory. */
const ENTER = `
root_time=$(stat -c %.9Y /mnt)
place=$(mktemp -d /mnt/.skerry-XXXXXXXXXX) || end 1
place_time=$(stat -c %.9Y /mnt)
within=/$(basename "$place")
mount --bind / "$place" && mount --rbind /dev "$place/dev" || fault builder_failed "nothing can be mounted"
[ ! -d "$context" ] || mount --bind "$context" "$place/mnt"
loader=$(readlink -f /lib64/ld-linux-x86-64.so.2)
library=$within$(dirname "$loader")
tool() {
  local program
  program=$(type -P "$1")
  [ ! -L "$program" ] || program=$(readlink -f "$program")
  shift
  chroot /mnt "$within$loader" --library-path "$library" "$within$program" "$@"
}
`;

/** What programs expect to find, mounted from within, so that a link in the template is followed there. */
const MOUNT_SYSTEM = `
tool mkdir -p /proc /sys /dev /etc || refuse "the template has no place for /proc, /sys, /dev or /etc"
tool mount -t proc proc /proc && tool mount -t sysfs -o ro sysfs /sys && tool mount --rbind "$within/dev" /dev ||
  fault builder_failed "/proc, /sys and /dev could not be mounted"
if [ -e /etc/resolv.conf ]; then
  names=$(tool realpath -m /etc/resolv.conf)
  if ! tool test -e "$names"; then
    tool mkdir -p "$(dirname "$names")" && tool touch "$names" && made=$names
  fi
  mkdir -p /run/skerry-build && cat /etc/resolv.conf >/run/skerry-build/resolv.conf
  mount --bind /run/skerry-build "$place/srv" && tool mount --bind "$within/srv/resolv.conf" "$names" ||
    fault builder_failed "/etc/resolv.conf could not be mounted"
fi
`;

const RUN = `
user=\${STEP_USER%%:*}
entry=$(tool grep -m 1 -E "^$user:|^[^:]*:[^:]*:$user:" /etc/passwd 2>/dev/null)
IFS=: read -r name _ uid gid _ home _ <<<"$entry"
if [ -z "$entry" ]; then
  case $user in *[!0-9]*) refuse "the template has no user $user" ;; esac
  name= uid=$user gid=0 home=
fi
case $STEP_USER in
  *:*)
    group=\${STEP_USER#*:}
    gid=$(tool grep -m 1 -E "^$group:" /etc/group 2>/dev/null | cut -d: -f3)
    if [ -z "$gid" ]; then
      case $group in *[!0-9]*) refuse "the template has no group $group" ;; esac
      gid=$group
    fi ;;
esac
groups=
[ -z "$name" ] || groups=$(tool grep -E "^[^:]*:[^:]*:[^:]*:(.*,)?$name(,.*)?$" /etc/group 2>/dev/null | cut -d: -f3 | paste -sd,)
[ -n "$home" ] || { [ "$uid" = 0 ] && home=/root || home=/; }
tool test -x /bin/sh || refuse "the template has no /bin/sh, which run needs"
tool test -d "$STEP_WORKDIR" || refuse "there is no folder $STEP_WORKDIR; make it by a workdir step"
set --
at=0
while [ "$at" -lt "$STEP_ENVS" ]; do
  one=STEP_ENV_$at
  set -- "$@" "\${!one}"
  at=$((at + 1))
done
chroot --userspec="$uid:$gid" --groups="$groups" /mnt "$within$loader" --library-path "$library" "$within/usr/bin/env" \\
  -i --chdir="$STEP_WORKDIR" "HOME=$home" "$@" /bin/sh -c "$STEP_RUN" </dev/null
end $?
`;

// Folders that are there keep their permissions, and a link to one stays what it is. All becomes root's, as by COPY in a Dockerfile. The guest's agent
// does it; one of an earlier version does not know how, and exits with 2.
const COPY = `
real=$(tool realpath -e -- "$within/mnt/$STEP_FROM" 2>/dev/null) ||
  refuse "$STEP_FROM is not in the context, or is a link to what is not there"
case $real/ in
  "$within/mnt/"*) ;;
  *) refuse "$STEP_FROM is a link that leads out of the context" ;;
esac
code=0
set -o pipefail
if tool test -d "$real"; then
  tool mkdir -p -- "$STEP_TO" || end 1
  "$agent" --copy-tree /mnt "/mnt$real" "$STEP_TO" || code=$?
  if [ "$code" -eq 2 ]; then
    code=0
    tool tar -C "$real" -b 128 --numeric-owner -cf - . |
      tool tar -C "$STEP_TO" -b 128 -xpf - --no-same-owner --no-overwrite-dir --keep-directory-symlink || code=1
  fi
else
  target=$STEP_TO
  case $target in
    */) tool mkdir -p -- "$target" || code=1 ;;
    *) tool mkdir -p -- "$(dirname "$target")" || code=1 ;;
  esac
  [ "$code" -ne 0 ] || tool cp -a --no-preserve=ownership -- "$real" "$target" || code=1
fi
end "$code"
`;

const WORKDIR = `
tool mkdir -p -- "$STEP_WORKDIR" || end 1
end 0
`;

const CLEAN = `
tool find /tmp /var/tmp -xdev -mindepth 1 -delete 2>/dev/null
end 0
`;

/** Of the commit that was cloned: its id, and its files, each with a NUL behind it, and before that a slash where it is a link. */
export const GIT_COMMIT_FILE = "/run/skerry-build/commit";
export const GIT_FILES_FILE = "/run/skerry-build/files";

// What Git may fetch by is said in a variable, which holds for redirects too. Nothing of the repository is run: there are no hooks, filters or submodules
// without a configuration that asks for them, and that of the repository is not read. A server of plain files knows no depth.
const CLONE = `
export HOME=$told/git GIT_CONFIG_NOSYSTEM=1 GIT_ALLOW_PROTOCOL=https:http:git GIT_TERMINAL_PROMPT=0 GIT_LFS_SKIP_SMUDGE=1
rm -rf "$context" "$work" "$HOME" && mkdir -p "$HOME" "$work" && cd "$work" && git init --quiet --template= . || exit 1
clone() {
  git fetch --quiet --depth 1 --no-tags --no-recurse-submodules -- "$STEP_URL" "$1" ||
    git fetch --quiet --no-tags --no-recurse-submodules -- "$STEP_URL" "$1"
}
clone "$STEP_REF" || exit
commit=$(git rev-parse --verify "FETCH_HEAD^{commit}") || exit 1
if [ -n "$STEP_COMMIT" ] && [ "$commit" != "$STEP_COMMIT" ]; then
  clone "$STEP_COMMIT" && commit=$(git rev-parse --verify "FETCH_HEAD^{commit}") && [ "$commit" = "$STEP_COMMIT" ] ||
    fault step_invalid "$STEP_REF has become another commit meanwhile; retry the build"
fi
git checkout --quiet --detach "$commit" || exit 1
rm -rf .git
real=$(realpath -e -- "$STEP_FOLDER" 2>/dev/null) && [ -d "$real" ] || fault step_invalid "there is no folder $STEP_FOLDER in the repository"
case $real/ in
  "$work"/*) ;;
  *) fault step_invalid "$STEP_FOLDER is a link that leads out of the repository" ;;
esac
mv -- "$real" "$context" && chmod 755 "$context" && cd "$context" && rm -rf "$work" || exit 1
find . -mindepth 1 \\( -type l -printf '%P/\\0' -o ! -type d -printf '%P\\0' \\) >"$told/files" && echo "$commit" >"$told/commit" || exit 1
echo "commit $commit"
`;

/** The text of each kind of step. `place` says where disk, context and agent are. */
export function builderScripts(place: string) {
  const script = (...parts: readonly string[]): string =>
    `exec unshare --mount --propagation private --pid --fork --kill-child=KILL /bin/bash --norc --noprofile -c ${quoted([BEGIN, place, OPEN, ...parts].join(""))}`;
  const away = (text: string): string =>
    `exec unshare --mount --propagation private --pid --fork --kill-child=KILL /bin/bash --norc --noprofile -c ${quoted([BEGIN, place, text].join(""))}`;
  return {
    git: away(CLONE),
    run: script(ENTER, MOUNT_SYSTEM, RUN),
    copy: script(CHECK_CONTEXT, ENTER, COPY),
    workdir: script(ENTER, WORKDIR),
    dockerfile: script(
      ...[CHECK_CONTEXT, BUILDAH, STAND_ON_TEMPLATE, PULL_BASES, BUILD_DOCKERFILE],
      ...[MOUNT_IMAGE, KEEP_CHANGES, KEEP_IMAGE],
    ),
    image: script(BUILDAH, PULL_IMAGE, MOUNT_IMAGE, COPY_IMAGE),
    archive: script(CHECK_CONTEXT, BUILDAH, PULL_ARCHIVE, MOUNT_IMAGE, COPY_IMAGE),
    seal: script(ENTER, CLEAN),
    pack: script(PACK_TEMPLATE),
    push: away(PUSH_IMAGE),
  };
}

const scripts = builderScripts(IN_BUILDER);
export const GIT_SCRIPT = scripts.git;
export const RUN_SCRIPT = scripts.run;
export const COPY_SCRIPT = scripts.copy;
export const WORKDIR_SCRIPT = scripts.workdir;
export const DOCKERFILE_SCRIPT = scripts.dockerfile;
export const IMAGE_SCRIPT = scripts.image;
export const ARCHIVE_SCRIPT = scripts.archive;
export const SEAL_SCRIPT = scripts.seal;
export const PACK_SCRIPT = scripts.pack;
export const PUSH_SCRIPT = scripts.push;
