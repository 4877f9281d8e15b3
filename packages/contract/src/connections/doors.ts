// The servers of a process that listen on the network, and the connections that they accept: bounded together
// by one table (`connection-table.ts`), and each with a deadline for its first byte or its TLS handshake, and
// with a bound of its unanswered requests (`unanswered.ts`). A server that is guarded here gives its listener
// to `bounded`; what authenticates its requests calls `noteAuthenticated`.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import { BlockList, isIPv6 } from "node:net";
import type { Server as TlsServer, TLSSocket } from "node:tls";
import {
  ConnectionTable,
  type BoundReached,
  type ConnectionBounds,
  type ConnectionState,
  type Held,
} from "./connection-table.ts";
import { neighbourhood } from "./neighbourhood.ts";
import { Queue, type Place } from "./queue.ts";
import { boundUnanswered, type RequestListener } from "./unanswered.ts";

/** Why a connection was closed. */
export const closeReasons = ["address", "total", "no_room", "first_byte", "handshake", "pipelined"] as const;
export type CloseReason = (typeof closeReasons)[number];

export interface DoorOptions {
  readonly bounds: ConnectionBounds;
  /** For the first byte of a connection, and for a TLS handshake as a whole. */
  readonly firstByteMs: number;
  /** Addresses and networks of proxies that are trusted to bound what their own clients open. */
  readonly trustedProxies?: readonly string[];
  readonly observer: DoorObserver;
}

export interface DoorObserver {
  count(state: ConnectionState, change: 1 | -1): void;
  closed(reason: CloseReason, address: string): void;
}

/** A connection as the table has it. */
interface Connection {
  /** After a TLS handshake another one than before it. */
  socket: Socket;
  /** Undefined: nothing was expected of it yet. */
  expected: Place<Expected> | undefined;
}

type HeldConnection = Held<Connection>;

/** Something that must come within `firstByteMs`. */
interface Expected {
  readonly held: HeldConnection;
  readonly reason: "first_byte" | "handshake";
  readonly dueMs: number;
}

/** A field of the socket: a `WeakMap` of all sockets costs more than everything else that is done for a new one. */
const HOLDER = Symbol("holder");

interface HeldSocket {
  [HOLDER]?: { readonly table: ConnectionTable<Connection>; readonly held: HeldConnection };
}

/** A request on this connection has been authenticated; `owner`: the account whose share of connections it counts in. */
export function noteAuthenticated(socket: object, owner: string): void {
  const holder = (socket as HeldSocket)[HOLDER];
  if (holder !== undefined) holder.table.authenticated(holder.held, owner);
}

/** A request on this connection was let in without a token. Call the answer when it has ended. */
export function noteVisit(socket: object): () => void {
  const holder = (socket as HeldSocket)[HOLDER];
  if (holder === undefined) return () => undefined;
  const { table, held } = holder;
  table.visiting(held);
  return () => table.visited(held);
}

export class Doors {
  readonly #table: ConnectionTable<Connection>;
  readonly #firstByteMs: number;
  readonly #observer: DoorObserver;
  readonly #proxies: BlockList;
  readonly #hasProxies: boolean;
  /** All have the same time, so the oldest is due first, and one timer is enough. */
  readonly #expected = new Queue<Expected>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ bounds, firstByteMs, trustedProxies = [], observer }: DoorOptions) {
    this.#firstByteMs = firstByteMs;
    this.#observer = observer;
    this.#hasProxies = trustedProxies.length > 0;
    this.#proxies = listOf(trustedProxies);
    this.#table = new ConnectionTable(bounds, {
      count: (state, change) => observer.count(state, change),
      evict: (held, reason: BoundReached) => this.#close(held, reason),
    });
  }

  /** For the requests of a guarded server, in the place of `listener`. */
  bounded<Request extends IncomingMessage, Response extends ServerResponse<Request>>(
    listener: RequestListener<Request, Response>,
  ): RequestListener<Request, Response> {
    return boundUnanswered(listener, (socket) => {
      const held = (socket as HeldSocket)[HOLDER]?.held;
      if (held === undefined) return void socket.destroy();
      this.#table.close(held);
      this.#close(held, "pipelined");
    });
  }

  /** For a server without TLS. */
  guard(server: Server): void {
    server.on("connection", (socket: Socket) => {
      const held = this.#accept(socket);
      if (held !== undefined) this.#expect(held, "first_byte");
    });
  }

  /** `ownerOf`: for mutual TLS, where the handshake has authenticated the peer. */
  guardTls(server: TlsServer, ownerOf?: (socket: TLSSocket) => string): void {
    /** Node has nothing that leads from the socket of a handshake to the connection that it began on. */
    const handshakes = new Map<string, HeldConnection>();
    server.on("connection", (socket: Socket) => {
      const held = this.#accept(socket);
      if (held === undefined) return;
      const ends = endsOf(socket);
      handshakes.set(ends, held);
      socket.once("close", () => {
        if (handshakes.get(ends) === held) handshakes.delete(ends);
      });
      this.#expect(held, "handshake");
    });
    server.on("secureConnection", (socket: TLSSocket) => {
      const ends = endsOf(socket);
      const held = handshakes.get(ends);
      handshakes.delete(ends);
      // It was closed while its handshake ended.
      if (held?.tier === undefined) return void socket.destroy();
      held.connection.socket = socket;
      this.#hold(socket, held);
      if (ownerOf === undefined) return this.#expect(held, "first_byte");
      this.#fulfilled(held);
      this.#table.authenticated(held, ownerOf(socket));
    });
  }

  #accept(socket: Socket): HeldConnection | undefined {
    const { remoteAddress = "" } = socket;
    const peer = {
      neighbourhood: neighbourhood(remoteAddress),
      isTrustedProxy: this.#hasProxies && isListed(this.#proxies, remoteAddress),
    };
    const held = this.#table.open({ socket, expected: undefined }, peer);
    if (held !== undefined) this.#hold(socket, held);
    return held;
  }

  #hold(socket: Socket, held: HeldConnection): void {
    (socket as HeldSocket)[HOLDER] = { table: this.#table, held };
    socket.once("close", () => {
      // The socket of a handshake may be closed before the one that goes on from it.
      if (held.connection.socket !== socket) return;
      this.#fulfilled(held);
      this.#table.close(held);
    });
  }

  #close(held: HeldConnection, reason: CloseReason): void {
    this.#fulfilled(held);
    this.#observer.closed(reason, held.peer.neighbourhood);
    held.connection.socket.destroy();
  }

  /** Proxies may open connections before they need them. */
  #expect(held: HeldConnection, reason: Expected["reason"]): void {
    this.#fulfilled(held);
    if (held.peer.isTrustedProxy && reason === "first_byte") return;
    const dueMs = performance.now() + this.#firstByteMs;
    held.connection.expected = this.#expected.add({ held, reason, dueMs });
    this.#arm();
  }

  #fulfilled(held: HeldConnection): void {
    const { expected } = held.connection;
    if (expected !== undefined) this.#expected.remove(expected);
  }

  #arm(): void {
    const { oldest } = this.#expected;
    if (oldest === undefined || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.#closeLate(), Math.max(0, oldest.dueMs - performance.now()));
    this.#timer.unref();
  }

  #closeLate(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    for (
      let one = this.#expected.oldest;
      one !== undefined && one.dueMs <= nowMs;
      one = this.#expected.oldest
    ) {
      const { held, reason } = one;
      this.#fulfilled(held);
      // Node reads a request past the socket's own events, and counts its bytes.
      if (reason === "first_byte" && held.connection.socket.bytesRead > 0) continue;
      this.#table.close(held);
      this.#close(held, reason);
    }
    this.#arm();
  }
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

function isListed(list: BlockList, address: string): boolean {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  const plain = mapped ?? address;
  return plain !== "" && list.check(plain, isIPv6(plain) ? "ipv6" : "ipv4");
}
