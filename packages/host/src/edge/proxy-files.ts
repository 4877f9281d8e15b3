// Files of the proxy, each replaced as a whole.

import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface ProxyFiles {
  readonly config: string;
  /** The map of routes. */
  readonly routes: string;
  /** The map of backends that other hosts pass requests on to. */
  readonly doors: string;
  /** The map of ports for plain TCP. */
  readonly ports: string;
  /** Certificate and key of this host, and the authorities that it believes. */
  readonly identity: string;
  readonly authority: string;
  /** The socket of commands, which is as much as the proxy itself: for root alone. */
  readonly socket: string;
  readonly pid: string;
  /** A folder with nothing in it but sockets of the proxy, in which it is shut up. */
  readonly empty: string;
}

export function proxyFiles(folder: string): ProxyFiles {
  return {
    config: join(folder, "haproxy.cfg"),
    routes: join(folder, "routes.map"),
    doors: join(folder, "doors.map"),
    ports: join(folder, "ports.map"),
    identity: join(folder, "identity.pem"),
    authority: join(folder, "authority.pem"),
    socket: join(folder, "admin.sock"),
    pid: join(folder, "haproxy.pid"),
    empty: join(folder, "empty"),
  };
}

export async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.part`, text, { mode: 0o600 });
  await rename(`${path}.part`, path);
}

/** Replaces a map. */
export function replaceMap(path: string, entries: ReadonlyMap<string, string>): Promise<void> {
  return replaceFile(path, [...entries].map(([key, value]) => `${key} ${value}\n`).join(""));
}
