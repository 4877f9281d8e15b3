// The parts of the builder's scripts that pull images of registries and build Dockerfiles, by Debian's buildah and skopeo.

import { DOCUMENTS } from "../dockerfile/dockerfile-document.ts";
import {
  IMAGE_CONFIG_FILE,
  IMAGE_DIGEST_FILE,
  REGISTRY_AUTH_FILE,
  REGISTRY_FOLDER,
  REGISTRY_MIRRORS_FILE,
} from "./registry-files.ts";

/** Values that a Dockerfile's steps may ask for, each in a file of its name; in the memory of the builder, and of no use after that step. */
export const SECRETS_FOLDER = "/run/skerry-build/secrets";

/** A registry that says nothing for so long is away. */
const RESOLVED_WITHIN_S = 120;

// For what talks to registries. None is asked for an image that was just built. Names without a registry are the Docker Hub's, as everywhere else.
export const BUILDAH = `
registries=${REGISTRY_FOLDER}
trap 'rm -rf -- "$registries"' EXIT
mkdir -p /run/skerry-build /etc/containers/registries.conf.d && mkdir -p -m 700 "$registries" || end 1
echo "unqualified-search-registries = [\\"docker.io\\"]" >/etc/containers/registries.conf.d/skerry-build.conf
[ ! -f ${REGISTRY_MIRRORS_FILE} ] || cp ${REGISTRY_MIRRORS_FILE} /etc/containers/registries.conf.d/skerry-mirrors.conf || end 1
[ ! -f ${REGISTRY_AUTH_FILE} ] || export REGISTRY_AUTH_FILE=${REGISTRY_AUTH_FILE}
export SSL_CERT_DIR=/etc/ssl/certs:$registries
said=$registries/said
# What a phase took is told, so that the log of a slow build says where its time went.
begin_phase() { phase_us=\${EPOCHREALTIME/[.,]/}; }
end_phase() {
  local took=$(((\${EPOCHREALTIME/[.,]/} - phase_us) / 100000))
  echo "$1: $((took / 10)).$((took % 10)) s"
}
# Of what registries' clients have said last: why. The words are theirs, and so is what they mean by them.
refuse_pull() {
  local words
  words=$(tail -c 4000 "$said" | tr '\\n' ' ')
  echo "$words" >&2
  case $words in
    *"no space left on device"*) end 125 "the builder's disk is full" disk_full ;;
    *unauthorized*|*"authentication required"*|*"denied"*|*"invalid username/password"*)
      end 125 "the registry does not let the build have $1: set its credentials with skerry registry login" registry_denied ;;
    *"manifest unknown"*|*"name unknown"*|*"repository name not known"*|*"status 404"*|*"404 (Not Found)"*)
      end 125 "the registry has no $1" image_not_found ;;
    *"does not match"*|*"igest"*"did not match"*|*"unsupported manifest"*|*"nsupported schema"*|*"invalid character"*|*"invalid checksum"*|*"unexpected EOF"*)
      end 125 "what the registry sends is not $1" image_invalid ;;
    *"HTTP response to HTTPS client"*)
      end 125 "the registry of $1 has no TLS, which the operator can allow in SKERRY_REGISTRY_MIRRORS" registry_unreachable ;;
    *) end 125 "the registry of $1 cannot be reached, or gave no good answer" registry_unreachable ;;
  esac
}
`;

// What a Dockerfile runs must not find the credentials of registries. So the images that it names are pulled first, and then they are gone; an image
// whose name its own steps make up is asked for without them.
export const PULL_BASES = `
file=$context/$STEP_FILE
if [ -n "$STEP_TEXT" ]; then
  file=$registries/Dockerfile
  printf "%s" "$STEP_TEXT" >"$file" || end 1
fi
[ -f "$file" ] || refuse "there is no $STEP_FILE in the context"
pull=true
if [ -f ${REGISTRY_AUTH_FILE} ]; then
  pull=false
  declare -A args=() stages=()
  images=()
  at=0
  while [ "$at" -lt "$STEP_ARGS" ]; do
    one=STEP_ARG_$at
    args["\${!one%%=*}"]=\${!one#*=}
    at=$((at + 1))
  done
  names() {
    local image=$1 arg
    for arg in "\${!args[@]}"; do
      image=\${image//\\$\\{$arg\\}/"\${args[$arg]}"}
      image=\${image//\\$$arg/"\${args[$arg]}"}
    done
    case $image in ''|scratch|localhost/*|${DOCUMENTS}|"$STEP_FROM"|[0-9]|[0-9][0-9]|*[^A-Za-z0-9./_:@-]*) return ;; esac
    [ -n "\${stages["\${image,,}"]-}" ] || images+=("$image")
  }
  # Not by a process substitution: a guest has no /dev/fd.
  tr -d '\\r' <"$file" | sed -e '/^[[:space:]]*#/d' | sed -e ':on' -e '/\\\\[[:space:]]*$/{N;s/\\\\[[:space:]]*\\n/ /;b on' -e '}' >"$registries/lines" || end 1
  set -f
  while read -r word first rest || [ -n "$word" ]; do
    case \${word^^} in
      ARG)
        case $first in *=*)
          [ -n "\${args["\${first%%=*}"]-}" ] || args["\${first%%=*}"]=$(tr -d '\\042\\047' <<<"\${first#*=}") ;;
        esac ;;
      FROM)
        while [ "\${first#--}" != "$first" ]; do read -r first rest <<<"$rest"; done
        names "$first"
        read -r as stage _ <<<"$rest"
        [ "\${as^^}" != AS ] || stages["\${stage,,}"]=1 ;;
      COPY|RUN)
        for option in $first $rest; do
          case $option in
            --from=*) names "\${option#--from=}" ;;
            --mount*[=,]from=*)
              option=\${option#*[=,]from=}
              names "\${option%%,*}" ;;
            --*) ;;
            *) break ;;
          esac
        done ;;
    esac
  done <"$registries/lines"
  set +f
  begin_phase
  for image in \${images[@]+"\${images[@]}"}; do
    buildah pull --quiet "docker://$image" >/dev/null 2>"$said" || refuse_pull "$image"
  done
  end_phase "pull the images that the Dockerfile names"
  unset REGISTRY_AUTH_FILE
  rm -f -- ${REGISTRY_AUTH_FILE}
fi
`;

// A tag may come to mean another image while it is pulled: its digest is asked for first, and that is pulled.
export const PULL_IMAGE = `
name=\${STEP_IMAGE%@*}
digest=
[ "$name" = "$STEP_IMAGE" ] || digest=\${STEP_IMAGE##*@}
if [ -z "$digest" ]; then
  timeout -k 5 ${RESOLVED_WITHIN_S} skopeo inspect --raw "docker://$STEP_IMAGE" >"$registries/manifest" 2>"$said" || refuse_pull "$STEP_IMAGE"
  digest=$(skopeo manifest-digest "$registries/manifest" 2>"$said") || refuse_pull "$STEP_IMAGE"
fi
case \${name##*/} in *:*) name=\${name%:*} ;; esac
echo "$STEP_IMAGE is $name@$digest"
begin_phase
image=$(buildah pull --quiet "docker://$name@$digest" 2>"$said") || refuse_pull "$STEP_IMAGE"
end_phase "pull the image"
echo "$digest" >${IMAGE_DIGEST_FILE}
unset REGISTRY_AUTH_FILE
rm -rf -- "$registries"
code=0
`;

// The upload was unpacked as any context is: what of it lies in a folder is the layout of an OCI image, and a Docker archive is packed again. Every
// digest is checked when it is pulled from there.
export const PULL_ARCHIVE = `
refuse_archive() {
  local words
  words=$(tail -c 4000 "$said" | tr '\\n' ' ')
  echo "$words" >&2
  case $words in
    *"no space left on device"*) end 125 "the builder's disk is full" disk_full ;;
    *"more than one image"*|*"xpected 1 item"*|*"xactly one"*|*"xactly 1"*)
      end 125 "the archive has several images or none, and has to have one: save that one alone" image_invalid ;;
    *) end 125 "the archive is not whole, or is not what its digests say" image_invalid ;;
  esac
}
if [ -f "$context/oci-layout" ] && [ -f "$context/index.json" ]; then
  archive=oci:$context
elif [ -f "$context/manifest.json" ]; then
  packed=/var/tmp/skerry-archive.tar
  (cd "$context" && tar -cf "$packed" -- *) 2>"$said" || refuse_archive
  archive=docker-archive:$packed
else
  end 125 "the upload is no archive of an image: it has neither oci-layout nor manifest.json" image_invalid
fi
skopeo inspect --raw "$archive" >"$registries/manifest" 2>"$said" || refuse_archive
digest=$(skopeo manifest-digest "$registries/manifest" 2>"$said") || refuse_archive
echo "the archive is $digest"
begin_phase
image=$(buildah pull --quiet "$archive" 2>"$said") || refuse_archive
end_phase "read the archive"
rm -f -- /var/tmp/skerry-archive.tar
echo "$digest" >${IMAGE_DIGEST_FILE}
code=0
`;

/** The image's root, as the overlay shows it (so whiteouts have done their work), with owners, permissions, hard links and attributes. `tree` is where that
 *  is mounted from here on. */
export const MOUNT_IMAGE = `
if [ "$code" -eq 0 ]; then
  begin_phase
  container=$(buildah from --pull-never "$image") && tree=$(buildah mount "$container") &&
    buildah inspect --type image "$image" >${IMAGE_CONFIG_FILE} || code=1
  end_phase "open the image"
fi
`;

export const COPY_IMAGE = `
if [ "$code" -eq 0 ]; then
  begin_phase
  cp -a -- "$tree/." /mnt/ || code=1
  end_phase "copy the image to the disk"
fi
end "$code"
`;
