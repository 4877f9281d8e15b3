// A client for each host, by the address that its heartbeat recorded: `unix:/run/skerry/host.sock`.

import { SkerryError } from "@skerry/contract/errors";
import { HostClient } from "./host-client.ts";

const UNIX = "unix:";

export function addressOfSocket(socketPath: string): string {
  return UNIX + socketPath;
}

export class HostDirectory {
  readonly #clients = new Map<string, HostClient>();

  client(address: string): HostClient {
    const known = this.#clients.get(address);
    if (known !== undefined) return known;
    if (!address.startsWith(UNIX)) {
      throw new SkerryError("host_unavailable", "The host has an address that this version cannot reach.");
    }
    const client = new HostClient(address.slice(UNIX.length));
    this.#clients.set(address, client);
    return client;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
    this.#clients.clear();
  }
}
