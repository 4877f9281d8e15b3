// Words of the proxy's configuration for connections that are passed on as they are. Pure.

/** Another host as a server of a place: the proxy's own socket, which leads there. */
export function passedWords(peer: number): string {
  return `unix@/${passSocket(peer)} send-proxy-v2 proxy-v2-options unique-id`;
}

export const passSocket = (peer: number): string => `pass-p${peer}.sock`;

/** Door for connections that are passed on: the port after that for requests. */
export function besideDoor(door: string): string {
  const at = door.lastIndexOf(":");
  return `${door.slice(0, at)}:${Number(door.slice(at + 1)) + 1}`;
}
