// Name queries over TCP, passed through as bytes in both directions.

import { connect, type Socket } from "node:net";
import type { NameServer } from "./name-servers.ts";

const STREAMS_MAX = 128;
const STREAMS_PER_GUEST = 8;
const CONNECT_DEADLINE_MS = 2_000;
const IDLE_DEADLINE_MS = 10_000;
/** Long enough for a hundred answers; not for a tunnel that stays. */
const STREAM_DEADLINE_MS = 60_000;

export class StreamRelay {
  readonly #servers: () => Promise<readonly NameServer[]>;
  /** By guest. */
  readonly #streams = new Map<string, Set<Socket>>();
  #count = 0;
  #closed = false;

  constructor(servers: () => Promise<readonly NameServer[]>) {
    this.#servers = servers;
  }

  take(client: Socket): void {
    client.on("error", () => client.destroy());
    const guest = client.remoteAddress ?? "";
    const ofGuest = this.#streams.get(guest) ?? new Set();
    if (this.#closed || this.#count >= STREAMS_MAX || ofGuest.size >= STREAMS_PER_GUEST) {
      client.resetAndDestroy();
      return;
    }
    this.#count += 1;
    this.#streams.set(guest, ofGuest.add(client));
    const deadline = setTimeout(() => client.destroy(), STREAM_DEADLINE_MS);
    client.setTimeout(IDLE_DEADLINE_MS, () => client.destroy());
    client.once("close", () => {
      clearTimeout(deadline);
      this.#count -= 1;
      ofGuest.delete(client);
      if (ofGuest.size === 0) this.#streams.delete(guest);
    });
    void this.#pass(client).catch(() => client.destroy());
  }

  close(): void {
    this.#closed = true;
    for (const client of [...this.#streams.values()].flatMap((all) => [...all])) client.destroy();
  }

  async #pass(client: Socket): Promise<void> {
    for (const server of await this.#servers()) {
      if (client.destroyed) return;
      const upstream = await connected(server);
      if (upstream === undefined) continue;
      if (client.destroyed) {
        upstream.destroy();
        return;
      }
      upstream.on("error", () => client.destroy());
      upstream.once("close", () => client.destroySoon());
      client.once("close", () => upstream.destroy());
      client.pipe(upstream);
      upstream.pipe(client);
      return;
    }
    client.resetAndDestroy();
  }
}

/** Undefined where the server does not take the connection in time. */
function connected(server: NameServer): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: server.address, port: server.port, noDelay: true, allowHalfOpen: true });
    const fail = (): void => {
      socket.destroy();
      resolve(undefined);
    };
    const timer = setTimeout(fail, CONNECT_DEADLINE_MS);
    socket.once("error", fail);
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.off("error", fail);
      resolve(socket);
    });
    socket.once("close", () => clearTimeout(timer));
  });
}
