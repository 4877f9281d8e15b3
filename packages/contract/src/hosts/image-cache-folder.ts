// The folder in which the hosts of a machine keep kernels and images for the next state folder, and the names
// of what is in it. `skerry uninstall` removes these alone, because the operator may have named the folder.

export const IMAGE_CACHE_FOLDER = "/var/cache/skerry/images";
/** The value of SKERRY_IMAGE_CACHE with which a host keeps none. */
export const NO_IMAGE_CACHE = "off";

/** The name of an entry that is being filled begins so. */
export const NEW_IMAGE_ENTRY = "new-";
const ENTRY = /^[a-z][a-z0-9-]*-[0-9a-f]{32}$/;
const NEW_ENTRY = /^new-[A-Za-z0-9]{6}$/;

export function isImageEntry(name: string): boolean {
  return ENTRY.test(name);
}

export function isNewImageEntry(name: string): boolean {
  return NEW_ENTRY.test(name);
}
