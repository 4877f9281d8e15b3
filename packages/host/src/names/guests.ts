// What the name proxy knows of each guest, by the address of its slot: the policy, the connections under way, and what was refused. A
// guest that is not here gets nothing.

import type { EgressDenial, EgressInjection } from "@skerry/contract/vms/egress";
import { setTimeout as sleep } from "node:timers/promises";
import { LeakyBucket } from "../system/leaky-bucket.ts";
import { FairShare } from "../network/fair-share.ts";
import type { NameProxyGuest } from "../network/name-proxy-protocol.ts";
import { refusalOfAddress, refusalOfName } from "./decide-name.ts";
import { policyOf, type Policy } from "./policy.ts";
import type { Resolver } from "./resolver.ts";

/** Refused names that are remembered of one guest; then the oldest is forgotten. */
const DENIALS_MAX = 256;
/** Connections under way, of all guests and of one. Each holds a hello of at most 32 KiB, or what is on its way between two sockets. */
const CONNECTIONS = { all: 4_096, each: 256 } as const;
/** HTTP requests under way, of all guests and of one. Each holds a head of at most 16 KiB, and as much of an answer as a socket
 *  takes. */
const REQUESTS = { all: 2_048, each: 128 } as const;
/** Connections to servers that are kept for a guest's next request, of all guests and of one. */
const KEPT = { all: 1_024, each: 32 } as const;
/** To decide one takes this process's time, which the guests share. */
const REQUEST_RATE = { burst: 1_000, perMs: 0.5 } as const;
/** Requests of one guest that wait for their turn: one that has gone waits all the same. */
const WAITING_MAX = 256;
/** What the policies of a host that has been started again are not renewed in is over. */
const RENEWED_WITHIN_MS = 120_000;

export interface Destroyable {
  destroy(): void;
}

/** Where a connection, or one request on it, was let through to. */
export interface Destination {
  readonly name: string;
  readonly address: string;
}

/** One connection of a guest. */
export interface Connection {
  readonly guest: Guest;
  readonly socket: Destroyable;
  /** Those that something is on its way to or from. */
  readonly destinations: Set<Destination>;
}

export interface Refusal extends Pick<EgressDenial, "rule" | "port" | "protocol"> {
  readonly name?: string | undefined;
  readonly address?: string | undefined;
}

export class Guest {
  readonly address: string;
  readonly resolver: Resolver;
  policy: Policy;
  isStale = false;
  readonly #requests = new LeakyBucket(REQUEST_RATE, performance.now());
  readonly connections = new Set<Connection>();
  #waiting = 0;
  readonly #denied = new Map<string, EgressDenial>();
  readonly #injected = new Map<string, EgressInjection>();

  constructor(address: string, policy: Policy, resolver: Resolver) {
    this.address = address;
    this.policy = policy;
    this.resolver = resolver;
  }

  /** Newest last. */
  get denied(): EgressDenial[] {
    return [...this.#denied.values()];
  }

  /** Newest last. */
  get injected(): EgressInjection[] {
    return [...this.#injected.values()];
  }

  /** A request to this name has got the secret. */
  noteInjected(host: string, secret: string): void {
    const key = `${host} ${secret}`;
    const count = (this.#injected.get(key)?.count ?? 0) + 1;
    this.#injected.delete(key);
    this.#injected.set(key, { host, secret, count, last_at: new Date().toISOString() });
    forgetOldest(this.#injected);
  }

  /** Requests that wait for their turn. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Resolves when it is the next request's turn, or that of what costs as much as several. Rejects where too
   * many wait.
   */
  async takeTurn(turns = 1): Promise<void> {
    if (this.#waiting >= WAITING_MAX) throw new Error("too many requests of the guest wait");
    this.#requests.spend(turns);
    const pauseMs = this.#requests.pauseMs(performance.now());
    if (pauseMs <= 0) return;
    this.#waiting += 1;
    await sleep(pauseMs);
    this.#waiting -= 1;
  }

  refuse({ rule, port, protocol, name, address = "" }: Refusal): void {
    const key = [rule, port, protocol, name, address].join(" ");
    const count = (this.#denied.get(key)?.count ?? 0) + 1;
    this.#denied.delete(key);
    const last_at = new Date().toISOString();
    this.#denied.set(key, {
      ...{ address, port, protocol, rule, count, last_at },
      ...(name !== undefined && { domain: name }),
    });
    forgetOldest(this.#denied);
  }
}

function forgetOldest(told: Map<string, unknown>): void {
  const [oldest] = told.keys();
  if (told.size > DENIALS_MAX && oldest !== undefined) told.delete(oldest);
}

export class Guests {
  readonly #guests = new Map<string, Guest>();
  readonly #places = new FairShare<Connection>(CONNECTIONS, ({ socket }) => socket.destroy());
  readonly #requests = new FairShare<Destroyable>(REQUESTS, (request) => request.destroy());
  readonly #kept = new FairShare<Destroyable>(KEPT, (server) => server.destroy());
  readonly #newResolver: () => Resolver;

  constructor(newResolver: () => Resolver) {
    this.#newResolver = newResolver;
  }

  get isEmpty(): boolean {
    return this.#guests.size === 0;
  }

  get(address: string): Guest | undefined {
    return this.#guests.get(address);
  }

  /** Connections that the new policy forbids are cut. `isNew`: whoever had the address before has gone. */
  set({ guest: address, policy: named, isNew }: NameProxyGuest): void {
    if (isNew) this.forget(address);
    const guest = this.#guests.get(address);
    const policy = policyOf(named, guest?.policy);
    if (guest === undefined)
      return void this.#guests.set(address, new Guest(address, policy, this.#newResolver()));
    guest.policy = policy;
    guest.isStale = false;
    const isForbidden = ({ name, address: to }: Destination): boolean =>
      (refusalOfName(policy, name) ?? refusalOfAddress(policy, to, "connection")) !== undefined;
    for (const { destinations, socket } of guest.connections)
      if ([...destinations].some(isForbidden)) socket.destroy();
  }

  forget(address: string): void {
    const guest = this.#guests.get(address);
    this.#guests.delete(address);
    for (const { socket } of guest?.connections ?? []) socket.destroy();
    // The next guest with this address has all of its own places, also where these sockets close later.
    for (const places of [this.#places, this.#requests, this.#kept]) places.releaseAll(address);
  }

  /** A host process that has just come names the guests that are still there; the others have ended while there was none. */
  expectRenewal(): void {
    for (const guest of this.#guests.values()) guest.isStale = true;
    setTimeout(() => {
      for (const { address, isStale } of [...this.#guests.values()]) if (isStale) this.forget(address);
    }, RENEWED_WITHIN_MS).unref();
  }

  /** Undefined where the guest is unknown or has too many connections. `release` it when it has ended. */
  admit(address: string, port: number, socket: Destroyable): Connection | undefined {
    const guest = this.#guests.get(address);
    if (guest === undefined) return undefined;
    const connection: Connection = { guest, socket, destinations: new Set() };
    if (!this.#places.take(address, connection)) {
      guest.refuse({ rule: "connection_limit", port, protocol: "tcp" });
      return undefined;
    }
    guest.connections.add(connection);
    return connection;
  }

  /** Undefined where the guest has too many requests under way. Call what it returns when the request has ended. */
  admitRequest(guest: Guest, port: number, socket: Destroyable): (() => void) | undefined {
    const request: Destroyable = { destroy: () => socket.destroy() };
    if (this.#requests.take(guest.address, request))
      return () => this.#requests.release(guest.address, request);
    guest.refuse({ rule: "connection_limit", port, protocol: "tcp" });
    return undefined;
  }

  /** Undefined where the guest has too many connections to servers that are kept. Call what it returns when this one is no longer. */
  admitKept(guest: Guest, server: Destroyable): (() => void) | undefined {
    const isKept = this.#guests.get(guest.address) === guest && this.#kept.take(guest.address, server);
    return isKept ? () => this.#kept.release(guest.address, server) : undefined;
  }

  release(connection: Connection): void {
    connection.guest.connections.delete(connection);
    this.#places.release(connection.guest.address, connection);
  }
}
