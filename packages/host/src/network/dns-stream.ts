// Name queries over TCP, passed through as bytes in both directions.

import { connect, type Socket } from "node:net";
import type { NameServer } from "./name-servers.ts";
import { FairShare } from "./fair-share.ts";

/** Of all guests and of one. 32 guests can hold all; from then on they share (`fair-share.ts`): of 100 guests,
 *  which is what one organization may have, each holds 2 or 3, and a guest beside them gets one at least.
 *  It gets none only where 256 guests hold one each. */
const STREAMS = { all: 256, each: 8 } as const;
const CONNECT_DEADLINE_MS = 2_000;
const IDLE_DEADLINE_MS = 10_000;
/** Long enough for a hundred answers; not for a tunnel that stays. */
const STREAM_DEADLINE_MS = 60_000;

export class DnsStreamRelay {
  readonly #servers: () => Promise<readonly NameServer[]>;
  readonly #streams = new FairShare<Socket>(STREAMS, (client) => client.resetAndDestroy());
  #closed = false;

  constructor(servers: () => Promise<readonly NameServer[]>) {
    this.#servers = servers;
  }

  take(client: Socket): void {
    client.on("error", () => client.destroy());
    const guest = client.remoteAddress ?? "";
    if (this.#closed || !this.#streams.take(guest, client)) {
      client.resetAndDestroy();
      return;
    }
    const deadline = setTimeout(() => client.destroy(), STREAM_DEADLINE_MS);
    client.setTimeout(IDLE_DEADLINE_MS, () => client.destroy());
    client.once("close", () => {
      clearTimeout(deadline);
      this.#streams.release(guest, client);
    });
    void this.#pass(client).catch(() => client.destroy());
  }

  close(): void {
    this.#closed = true;
    for (const client of this.#streams.all()) client.destroy();
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
