// Connections over TLS to one server. None is used before its certificate was found to be the server's.

import type { Agent } from "node:http";
import { connect } from "node:net";
import { connect as connectTls, type SecureContext, type TLSSocket } from "node:tls";
import type { Guest, Guests } from "./guests.ts";
import { ServerConnections, type Connected, type ConnectOptions } from "./server-connections.ts";

const TLS_PORT = 443;
const HANDSHAKE_DEADLINE_MS = 10_000;

export interface SecureServer {
  /** Name that its certificate has to have. */
  readonly name: string;
  /** Certificates that it is trusted by. */
  readonly trusted: SecureContext;
}

/** Rejects where the server does not answer in time, or is not the one of this name. */
export function connectSecurely(
  { name, trusted }: SecureServer,
  address: string,
  protocols: readonly string[],
): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const socket = connect({ host: address, port: TLS_PORT, noDelay: true, keepAlive: true });
  const secure = connectTls({
    ...{ socket, servername: name, secureContext: trusted, minVersion: "TLSv1.2" },
    ALPNProtocols: [...protocols],
  });
  const lateness = new Error("the server does not answer");
  const deadline = setTimeout(() => socket.destroy(lateness), HANDSHAKE_DEADLINE_MS);
  socket.on("error", (error) => secure.destroy(error));
  secure.on("error", reject);
  secure.once("secureConnect", () => resolve(secure));
  secure.once("close", () => reject(new Error("the server has closed the connection")));
  return promise.finally(() => clearTimeout(deadline));
}

/** A connection that is there already, and where it goes. */
interface First {
  readonly socket: TLSSocket;
  readonly address: string;
}

/** Connections that speak HTTP/1.1. */
export class SecureConnections extends ServerConnections {
  readonly #server: SecureServer;
  readonly #of: readonly [Guests, Guest];
  #first: First | undefined;
  #isOver = false;

  /** `first`: one that is there already. */
  constructor(
    guests: Guests,
    guest: Guest,
    { first, ...server }: SecureServer & { first?: First | undefined },
  ) {
    super(guests, guest);
    this.#server = server;
    this.#of = [guests, guest];
    this.#first = first;
  }

  override alone(): Agent {
    return new SecureConnections(...this.#of, this.#server);
  }

  override createConnection({ host }: ConnectOptions, connected: Connected): undefined {
    const first = this.#first;
    this.#first = undefined;
    const isUsable = first?.address === host && first?.socket.destroyed === false;
    if (!isUsable) first?.socket.destroy();
    const found = isUsable
      ? Promise.resolve(first.socket)
      : connectSecurely(this.#server, host ?? "", ["http/1.1"]);
    found.then(
      (socket) => {
        // The agent forgets what comes after its end.
        if (this.#isOver) socket.destroy();
        connected(null, socket);
      },
      (error: unknown) => connected(error instanceof Error ? error : new Error(String(error))),
    );
    return undefined;
  }

  override destroy(): void {
    this.#isOver = true;
    this.#first?.socket.destroy();
    super.destroy();
  }
}
