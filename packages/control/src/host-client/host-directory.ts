// A client for each host, by its address. Beside control that is `unix:/run/skerry/host.sock`, and who may connect is decided by the
// socket; elsewhere it is `https://hst_…@192.0.2.7:7071`, which names who has to answer there.

import { idPattern } from "@skerry/contract/ids";
import { GENERATION_HEADER } from "@skerry/contract/host-api/generation";
import { SkerryError } from "@skerry/contract/errors";
import { Pool } from "undici";
import { HostClient } from "./host-client.ts";
import { mutualTlsConnector, type ControlCredentials } from "./mutual-tls.ts";

const UNIX = "unix:";
const SECURED = new RegExp(`^https://(${idPattern("host").slice(1, -1)})@(.+)$`);
const CONNECTIONS_MAX = 1_024;
const CONNECT_WITHIN_MS = 10_000;

export function addressOfSocket(socketPath: string): string {
  return UNIX + socketPath;
}

/** `endpoint`: `192.0.2.7:7071`. */
export function securedAddress(hostId: string, endpoint: string): string {
  return `https://${hostId}@${endpoint}`;
}

/** Whether only this machine can reach it there. */
export function isLocalAddress(address: string): boolean {
  return address.startsWith(UNIX);
}

export class HostDirectory {
  readonly #clients = new Map<string, HostClient>();
  readonly #credentials: () => Promise<ControlCredentials>;
  readonly #ownSocket: string | undefined;
  readonly #generation: () => number | undefined;

  /** `ownSocket`: the only one that is called. The address of another one is from before the state folder was moved or copied, and who
   *  answers there now may be the host of the installation that this one is a copy of. Undefined: every socket. `generation`: of this
   *  control plane, which hosts on other machines are told; where it answers undefined, none of them is called. */
  constructor(
    credentials: () => Promise<ControlCredentials>,
    ownSocket?: string,
    generation: () => number | undefined = () => 0,
  ) {
    this.#credentials = credentials;
    this.#ownSocket = ownSocket;
    this.#generation = generation;
  }

  client(address: string): HostClient {
    const known = this.#clients.get(address);
    if (known !== undefined) return known;
    const headers = isLocalAddress(address)
      ? undefined
      : () => ({ [GENERATION_HEADER]: String(this.#generation() ?? 0) });
    const client = new HostClient({ pool: this.#pool(address), lasting: this.#pool(address) }, headers);
    this.#clients.set(address, client);
    return client;
  }

  /** Whether the address is not that of another installation's host on this machine, nor of a host that obeys another control plane. */
  mayCall(address: string): boolean {
    if (!isLocalAddress(address)) return this.#generation() !== undefined;
    return this.#ownSocket === undefined || address === `${UNIX}${this.#ownSocket}`;
  }

  /** Ends what is under way with a host that is none any more, and all connections to it. */
  async forget(address: string): Promise<void> {
    const client = this.#clients.get(address);
    this.#clients.delete(address);
    await client?.close();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
    this.#clients.clear();
  }

  #pool(address: string): Pool {
    if (address.startsWith(UNIX)) {
      const socketPath = address.slice(UNIX.length);
      if (!this.mayCall(address))
        throw new SkerryError("host_unavailable", "The host has not been heard of on its socket yet.");
      return new Pool("http://host", {
        socketPath,
        connections: CONNECTIONS_MAX,
        connectTimeout: CONNECT_WITHIN_MS,
      });
    }
    const [, hostId, endpoint] = SECURED.exec(address) ?? [];
    if (hostId === undefined || endpoint === undefined) {
      throw new SkerryError("host_unavailable", "The host has an address that this version cannot reach.");
    }
    if (!this.mayCall(address)) throw notTakenOver();
    return new Pool(`https://${endpoint}`, {
      connections: CONNECTIONS_MAX,
      connect: mutualTlsConnector(hostId, this.#credentials, CONNECT_WITHIN_MS),
    });
  }
}

function notTakenOver(): SkerryError {
  return new SkerryError(
    "host_unavailable",
    "This control plane was restored from a backup, and its hosts on other machines are not called yet.",
    {
      remediation:
        "`skerry take-over` on its machine has them obey it, and refuse the control plane that the backup was made of.",
    },
  );
}
