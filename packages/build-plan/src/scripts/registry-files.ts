// What a step that pulls or pushes images finds in the builder beside the step itself, in memory, for that step alone, and never a part of its command,
// environment or key; and what it leaves there.

/** Where the files below are. Only root enters it, and the step removes it. */
export const REGISTRY_FOLDER = "/run/skerry-registries";
/** Names and passwords, as containers' tools read them. */
export const REGISTRY_AUTH_FILE = `${REGISTRY_FOLDER}/auth.json`;
/** Mirrors, as containers' tools read them. */
export const REGISTRY_MIRRORS_FILE = `${REGISTRY_FOLDER}/mirrors.conf`;
/** Authorities that registries' certificates may be of, beside those that every guest trusts. */
export const REGISTRY_CA_FILE = `${REGISTRY_FOLDER}/ca.pem`;

/** What `buildah inspect` says of the image, after a step that has one; see `image-config.ts`. */
export const IMAGE_CONFIG_FILE = "/run/skerry-build/config.json";

/** The digest of the image that a step has pulled or pushed. */
export const IMAGE_DIGEST_FILE = "/run/skerry-build/digest";

/** A registry that is asked in the place of another one. In its own place: whether it has TLS. */
export interface RegistryMirror {
  /** As references name it. */
  readonly registry: string;
  /** Host, port and path of what is asked. */
  readonly mirror: string;
  /** Without TLS. */
  readonly plain: boolean;
}

export interface Login {
  readonly host: string;
  readonly username: string;
  readonly password: string;
}

export function authFile(logins: readonly Login[]): string {
  const auths = logins.map(({ host, username, password }) => [
    host,
    { auth: Buffer.from(`${username}:${password}`).toString("base64") },
  ]);
  return JSON.stringify({ auths: Object.fromEntries(auths) });
}

export function mirrorsFile(all: readonly RegistryMirror[]): string {
  // Containers' tools refuse two entries of one registry that differ, so each registry has one.
  const registries = [...new Set(all.map(({ registry }) => registry))];
  return registries.map((one) => registryEntry(one, all)).join("\n");
}

function registryEntry(registry: string, all: readonly RegistryMirror[]): string {
  const mirrors = all.filter((one) => one.registry === registry);
  const own = `[[registry]]\nprefix = ${JSON.stringify(registry)}\nlocation = ${JSON.stringify(registry)}\n`;
  const itself = mirrors.find(({ mirror }) => mirror === registry);
  const others = mirrors.filter((mirror) => mirror !== itself);
  const tables = others.map(
    ({ mirror, plain }) => `[[registry.mirror]]\nlocation = ${JSON.stringify(mirror)}\ninsecure = ${plain}\n`,
  );
  return `${own}${itself === undefined ? "" : `insecure = ${itself.plain}\n`}${tables.join("")}`;
}
