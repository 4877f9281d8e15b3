// Which registry a reference to an image means.

/** A registry as a path of the API names it: a host, with a port where it has one. Lower case. */
export const REGISTRY_HOST_PATTERN = String.raw`^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[0-9]{1,5})?$`;

const DOCKER_HUB = "docker.io";

/** `alpine` and `library/alpine` are the Docker Hub's; the first part of a path is a host where it has a dot or a port, or is `localhost`. */
export function registryOf(reference: string): string {
  const [first = "", ...rest] = reference.split("/");
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const host = isHost ? first.toLowerCase() : DOCKER_HUB;
  return host === "index.docker.io" || host === "registry-1.docker.io" ? DOCKER_HUB : host;
}
