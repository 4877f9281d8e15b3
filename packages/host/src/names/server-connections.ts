// The connections to servers that one connection of a guest's uses. Those in use are bounded by its requests; of the others few are kept, and
// each has a place among those of its guest: a guest chooses how many names it asks for, and each is a server of its own.

import { Agent, type ClientRequest } from "node:http";
import type { Duplex } from "node:stream";
import type { Guest, Guests } from "./guests.ts";

/** Without a request, for the next one to the same server. */
const KEPT_MAX = 2;
const IDLE_DEADLINE_MS = 10 * 60_000;

export interface ConnectOptions {
  readonly host?: string | null | undefined;
}

export type Connected = (error: Error | null, connection?: Duplex) => void;

/** `destroy` it with the guest's connection. No request waits in it for a connection: it would make one for a request that has ended. */
export class ServerConnections extends Agent {
  readonly #guests: Guests;
  readonly #guest: Guest;
  /** A function for each that frees its place, the one that is kept for longest first. */
  readonly #kept = new Map<Duplex, () => void>();

  constructor(guests: Guests, guest: Guest) {
    super({ keepAlive: true, maxFreeSockets: KEPT_MAX, timeout: IDLE_DEADLINE_MS });
    this.#guests = guests;
    this.#guest = guest;
  }

  /** An agent for one request, whose connection no other request uses. */
  alone(): Agent {
    return new Agent({ keepAlive: false });
  }

  /** The agent destroys it where this is false. */
  override keepSocketAlive(socket: Duplex): boolean {
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= KEPT_MAX) {
      this.#kept.get(oldest)?.();
      oldest.destroy();
    }
    const release = this.#guests.admitKept(this.#guest, socket);
    if (release === undefined) return false;
    const free = (): void => {
      socket.off("close", free);
      this.#kept.delete(socket);
      release();
    };
    this.#kept.set(socket, free);
    socket.once("close", free);
    // False where the server has said that it closes.
    const isKept: unknown = super.keepSocketAlive(socket);
    if (isKept === false) free();
    return isKept !== false;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.#kept.get(socket)?.();
    super.reuseSocket(socket, request);
  }
}
