// The parts of the builder's scripts that build a Dockerfile. The template that FROM means is not copied into the storage of buildah: its disk, mounted
// at /mnt, is a layer there, below what the Dockerfile writes. Afterwards that is all that is copied to the disk.

import { GROUP_BEFORE } from "@skerry/contract/templates/template-name";
import { DOCUMENTS, PROGRAM_FOLDER } from "../dockerfile/dockerfile-document.ts";
import { IGNORE_FILES } from "../context/dockerignore.ts";
import { SECRETS_FOLDER } from "./image-scripts.ts";
import { quoted } from "@skerry/contract/shell-words";

/**
 * The template whose disk this is, as an image of its name. What the image is made of is a file with a random name, so that no other image has a layer of
 * the same digest; then the folder of that layer becomes a link to /mnt. Nothing writes to the disk until the image that was built is kept.
 */
export const STAND_ON_TEMPLATE = `
left_behind=.skerry-image
# What an earlier step has left there stands on a disk that is as it was then.
rm -rf -- /var/lib/containers/storage /run/containers/storage
store=/var/lib/containers/storage/overlay
base=
# The disk is in use for as long as an overlay stands on it.
release() { umount --all --types overlay 2>/dev/null; }
if [ -n "$STEP_FROM" ]; then
  begin_phase
  mark=.skerry-$(cat /proc/sys/kernel/random/uuid)
  container=$(buildah from scratch) && tree=$(buildah mount "$container") && : >"$tree/$mark" || end 1
  user=$STEP_USER
  folder=$STEP_WORKDIR
  env=()
  at=0
  while [ "$at" -lt "$STEP_ENVS" ]; do
    one=STEP_ENV_$at
    env+=("\${!one}")
    at=$((at + 1))
  done
  if [ "$STEP_FROM" = ${GROUP_BEFORE} ]; then
    mapfile -d "" -t left <"/mnt/$left_behind" && rm -- "/mnt/$left_behind" || end 125 "the step before has left nothing" builder_failed
    user=\${left[0]}
    folder=\${left[1]:-/}
    env=("\${left[@]:2}")
  fi
  set -- --workingdir "$folder"
  [ -z "$user" ] || set -- "$@" --user "$user"
  # It takes $name for a variable, and $$ for a dollar (of which it complains).
  for one in \${env[@]+"\${env[@]}"}; do set -- "$@" --env "\${one//\\$/\\$\\$}"; done
  buildah config "$@" "$container" 2>"$said" || { cat "$said" >&2; end 1; }
  buildah commit --quiet --rm "$container" "localhost/$STEP_FROM" >/dev/null || end 1
  base=$(echo "$store"/*/diff/"$mark")
  base=\${base%/diff/*}
  rm -r -- "$base/diff" && ln -s /mnt "$base/diff" || end 125 "the template could not become an image" builder_failed
  end_phase "make $STEP_FROM an image"
fi
`;

// Without `--layers`: what they are kept for is another build, and the storage ends with this one. Of the capabilities that a command of a Dockerfile has
// elsewhere it lacks CAP_SYS_CHROOT: this isolation is a chroot, and with it a command leaves that and finds the secrets of others.
export const BUILD_DOCKERFILE = `
set -- --pull="$pull" --isolation chroot --cap-drop CAP_SYS_CHROOT --format docker --file "$file" --tag localhost/skerry-build
[ -z "$STEP_TARGET" ] || set -- "$@" --target "$STEP_TARGET"
at=0
while [ "$at" -lt "$STEP_ARGS" ]; do
  one=STEP_ARG_$at
  set -- "$@" --build-arg "\${!one}"
  at=$((at + 1))
done
for one in ${SECRETS_FOLDER}/*; do
  [ ! -f "$one" ] || set -- "$@" --secret "id=$(basename "$one"),src=$one"
done
# A link is no list of what is left out, as it is none for the digests of what a group copies.
ignore=/dev/null
for one in ${IGNORE_FILES.toReversed().join(" ")}; do
  [ -L "$context/$one" ] || [ ! -f "$context/$one" ] || ignore=$context/$one
done
documents=$told/documents
rm -rf -- "$documents"
at=0
while [ "$at" -lt "$STEP_DOCUMENTS" ]; do
  one=STEP_DOCUMENT_$at place=STEP_PLACE_$at mode=STEP_MODE_$at
  at=$((at + 1))
  one=\${!one} place=$documents/\${!place} mode=\${!mode}
  mkdir -p -- "\${place%/*}" && printf "%s" "$one" >"$place" && chmod "$mode" "$place" || end 1
done
[ "$STEP_DOCUMENTS" -eq 0 ] || set -- "$@" --build-context "${DOCUMENTS}=$documents"
begin_phase
buildah bud --ignorefile "$ignore" "$@" "$context"
code=$?
end_phase "build the Dockerfile"
[ -z "$STEP_IS_LAST" ] || rm -rf ${SECRETS_FOLDER}
image=localhost/skerry-build
`;

/**
 * Defines `keep_changes`, which makes the template at /mnt what \`tree\`, an overlay over it, shows: what is not there any more is removed, and then each layer
 * between the two (\`over\`, the lowest last; the very last is the template itself) is copied, the lowest first. Of a layer only what \`tree\` shows as an entry of the same kind is taken,
 * and every list is made by \`find\`, which follows no link: so no path leads over one, and no whiteout is taken for a device.
 */
export const KEEP_CHANGES = `
list() { find "$1/" -mindepth 1 -printf "%y %P\\0" | LC_ALL=C sort -z; }
keep_changes() {
  local lists=/var/tmp/skerry-lists at
  local -a all=(--numeric-owner --acls --xattrs --xattrs-include="*" --xattrs-exclude="trusted.overlay.*")
  mkdir -p "$lists" && list /mnt >"$lists/old" && list "$tree" >"$lists/new" || return
  release
  LC_ALL=C comm -z -23 "$lists/old" "$lists/new" | LC_ALL=C cut -z -c3- | (cd /mnt && xargs -0 -r rm -rf --) || return
  for ((at = \${#over[@]} - 2; at >= 0; at--)); do
    list "$store/\${over[at]}" >"$lists/layer" &&
      LC_ALL=C comm -z -12 "$lists/layer" "$lists/new" | LC_ALL=C cut -z -c3- | LC_ALL=C sort -z >"$lists/kept" &&
      tar -C "$store/\${over[at]}/" --format=posix --sparse "\${all[@]}" --no-recursion --null -T "$lists/kept" -cf - |
      tar -C /mnt "\${all[@]}" -xpf - || return
  done
}
`;

/** Of an image, what the next group begins with, each with a NUL behind it: user, folder, and the variables. */
const LEFT_BEHIND = [
  "{{.OCIv1.Config.User}}{{NUL}}{{.OCIv1.Config.WorkingDir}}{{NUL}}",
  "{{range .OCIv1.Config.Env}}{{.}}{{NUL}}{{end}}",
]
  .join("")
  .replaceAll("NUL", String.raw`"\x00"`);

/** An image that does not stand on the template takes its place. */
export const KEEP_IMAGE = `
set -o pipefail
if [ "$code" -eq 0 ]; then
  over=()
  rmdir -- "$tree${PROGRAM_FOLDER}" 2>/dev/null
  [ -z "$base" ] || IFS=: read -ra over <"\${tree%/merged}/lower" || true
  begin_phase
  if [ -n "$base" ] && [ "\${over[-1]}" = "l/$(cat "$base/link")" ]; then
    keep_changes || code=1
  else
    find /mnt -xdev -mindepth 1 -delete && cp -a -- "$tree/." /mnt/ || code=1
  fi
  end_phase "copy the image to the disk"
fi
if [ "$code" -eq 0 ] && [ -z "$STEP_IS_LAST" ]; then
  rm -rf -- "/mnt/$left_behind" &&
    buildah inspect --type image --format ${quoted(LEFT_BEHIND)} "$image" >"/mnt/$left_behind" || code=1
fi
end "$code"
`;
