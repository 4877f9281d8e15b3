// The parts of the builder's scripts that push a template to a registry. Nothing of the template is run: its files are read by the builder's tar.

import { BUILDAH } from "./image-scripts.ts";
import { IMAGE_DIGEST_FILE } from "./registry-files.ts";

// An OCI layout of one layer. What differs from one time to the next is left out of the archive, so that a version has one digest: times of access and
// change, the id of tar's process, the order of a folder. `trusted.` attributes belong to overlays of this builder. A guest has no /dev/fd, so what is
// read twice goes through a named pipe.
export const PACK_TEMPLATE = `
blobs=$work/blobs/sha256
rm -rf "$work" && mkdir -p "$blobs" && mkfifo "$work/plain" || end 1
hidden=$(find /mnt -xdev -name '.wh.*' -printf '%P\\0' -quit 2>/dev/null | tr -c '[:print:]' '?' | cut -c 1-200)
[ -z "$hidden" ] || end 125 "the template has $hidden: in an image a name that begins with .wh. deletes another file, so it cannot be in one" image_invalid
set -o pipefail
sha256sum <"$work/plain" >"$work/diff" &
tar -C /mnt --exclude=./lost+found --one-file-system --format=posix --sort=name --numeric-owner --xattrs --xattrs-include='*' --xattrs-exclude='trusted.*' \\
  --pax-option='delete=atime,delete=ctime,exthdr.name=%d/PaxHeaders/%f' -cf - . | tee "$work/plain" | gzip -1 -n >"$work/layer"
code=$?
wait $! || code=1
if [ "$code" -ne 0 ]; then
  [ "$(stat -f -c %a "$work")" -ge 64 ] || end 125 "the builder's disk has no room for the image" disk_full
  end 1
fi
# Sets what a descriptor of it says.
blob() {
  digest=$(sha256sum <"$1" | cut -d ' ' -f 1) && bytes=$(stat -c %s "$1") && mv -- "$1" "$blobs/$digest" || end 1
}
type=application/vnd.oci.image
described() { printf '{"mediaType":"%s","digest":"sha256:%s","size":%s}' "$type.$1" "$digest" "$bytes"; }
blob "$work/layer"
layer=$(described layer.v1.tar+gzip)
printf '%s,"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' "$STEP_CONFIG" "$(cut -d ' ' -f 1 "$work/diff")" >"$work/config" || end 1
blob "$work/config"
printf '{"schemaVersion":2,"mediaType":"%s","config":%s,"layers":[%s]}' "$type.manifest.v1+json" "$(described config.v1+json)" "$layer" >"$work/manifest" || end 1
blob "$work/manifest"
printf '{"schemaVersion":2,"manifests":[%s]}' "$(described manifest.v1+json)" >"$work/index.json" &&
  printf '{"imageLayoutVersion":"1.0.0"}' >"$work/oci-layout" && rm -f -- "$work/plain" "$work/diff" || end 1
echo "the image is sha256:$digest, and its layer has $(stat -c %s "$blobs"/* | sort -n | tail -n 1) bytes"
end 0
`;

// A registry may keep the image in another form than OCI's, so the digest is what it has in the end.
export const PUSH_IMAGE = `
end() {
  [ -z "\${2:-}" ] || fault "\${3:-step_invalid}" "$2"
  exit "$1"
}
[ -f "$work/index.json" ] || fault builder_failed "there is no image to push"
${BUILDAH}
refuse_push() {
  local words
  words=$(tail -c 4000 "$said" | tr '\\n' ' ')
  echo "$words" >&2
  case $words in
    *nauthorized*|*"uthentication required"*|*denied*|*orbidden*|*"invalid username/password"*|*" 401"*|*" 403"*)
      end 125 "the registry does not let the build push $1: set credentials that may, with skerry registry login" registry_denied ;;
    *"name unknown"*|*"NAME_UNKNOWN"*|*"repository name not known"*|*"repository does not exist"*)
      end 125 "the registry has no repository for $1, and makes none" image_not_found ;;
    *"manifest invalid"*|*"MANIFEST_INVALID"*|*"nsupported"*|*"igest"*"did not match"*|*"blob unknown"*|*"413 "*|*"too large"*)
      end 125 "the registry does not take the image $1" image_invalid ;;
    *"HTTP response to HTTPS client"*)
      end 125 "the registry of $1 has no TLS, which the operator can allow in SKERRY_REGISTRY_MIRRORS" registry_unreachable ;;
    *) end 125 "the registry of $1 cannot be reached, or gave no good answer" registry_unreachable ;;
  esac
}
skopeo copy --digestfile ${IMAGE_DIGEST_FILE} "oci:$work" "docker://$STEP_IMAGE" 2>"$said" || refuse_push "$STEP_IMAGE"
unset REGISTRY_AUTH_FILE
rm -rf -- "$registries"
echo "$STEP_IMAGE is $(cat ${IMAGE_DIGEST_FILE})"
`;
