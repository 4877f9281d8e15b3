// Decides which connections a process keeps. A connection is silent until a request on it has been authenticated: it
// may be closed at any time to make room, and a peer without a token has only a bounded number of them. A connection
// that has been authenticated once is kept while it lives.
//
// Two kinds are between these. A request that a port's visitor sends, or that a signed URL allows, has no owner who
// could be held to limits, so its connection is protected only while the request runs, and only from peers that have
// shown nothing. The same holds for silent connections of trusted proxies, and for connections of one owner beyond
// its share: otherwise one token could hold all files by opening connections without end.

import { Ranking, type Rank } from "./ranking.ts";

export type ConnectionState = "silent" | "visitor" | "authenticated";

export interface ConnectionBounds {
  /** Silent connections of one address, or of a /64. */
  readonly perAddress: number;
  /** Connections that may be closed to make room. What is above this is the reserve of the authenticated ones. */
  readonly closable: number;
  /** Files for connections. One with an admitted request counts twice, because it may need a connection to a host. */
  readonly files: number;
  /** Authenticated connections of one owner that are never closed to make room. */
  readonly perOwner: number;
}

/** Which bound had a connection closed: that of its address, that of all, or, for a new connection that found nothing
 *  that may be closed, `no_room`. */
export type BoundReached = "address" | "total" | "no_room";

export interface Peer {
  /** An address, or a /64. */
  readonly neighbourhood: string;
  readonly isTrustedProxy: boolean;
}

/** A connection in the table. */
export interface Held<Connection> {
  connection: Connection;
  readonly peer: Peer;
  state: ConnectionState;
  /** Requests of visitors that run on it. */
  visits: number;
  /** Undefined: it is not in the table any more. */
  tier: Ranking<Held<Connection>> | undefined;
  rank: Rank<Held<Connection>> | undefined;
}

/** Told of each change. */
export interface TableObserver<Connection> {
  /** The table has removed the connection, and it must be closed. */
  evict(held: Held<Connection>, reason: BoundReached): void;
  count(state: ConnectionState, change: 1 | -1): void;
}

const FILES_OF = { silent: 1, visitor: 2, authenticated: 2 } as const satisfies Record<
  ConnectionState,
  number
>;

export class ConnectionTable<Connection> {
  readonly #bounds: ConnectionBounds;
  readonly #observer: TableObserver<Connection>;
  /** Silent ones by address: closed first. */
  readonly #silent = new Ranking<Held<Connection>>();
  /** Closed when no silent one is left: of visitors, of trusted proxies, and beyond an owner's share. */
  readonly #tolerated = new Ranking<Held<Connection>>();
  /** By owner. */
  readonly #kept = new Ranking<Held<Connection>>();
  #files = 0;

  constructor(bounds: ConnectionBounds, observer: TableObserver<Connection>) {
    this.#bounds = bounds;
    this.#observer = observer;
  }

  /** Takes a new connection in, in the place of an older one where there is no room. Undefined: it must be closed. */
  open(connection: Connection, peer: Peer): Held<Connection> | undefined {
    const held: Held<Connection> = {
      ...{ connection, peer, state: "silent", visits: 0 },
      ...{ tier: undefined, rank: undefined },
    };
    this.#boundAddress(peer);
    if (!this.#makeRoom(1)) {
      this.#observer.evict(held, "no_room");
      return undefined;
    }
    this.#count(held, 1);
    this.#placeSilent(held);
    return held;
  }

  /** A request on the connection has been authenticated. `owner` is the account whose share it counts in. */
  authenticated(held: Held<Connection>, owner: string): void {
    if (held.state === "authenticated" || held.tier === undefined) return;
    this.#become(held, "authenticated");
    this.#place(held, this.#kept, owner);
    const isBeyond = !held.peer.isTrustedProxy && this.#kept.count(owner) > this.#bounds.perOwner;
    const oldest = isBeyond ? this.#kept.oldestOf(owner) : undefined;
    if (oldest !== undefined) this.#place(oldest, this.#tolerated, `owner ${owner}`);
    this.#makeRoom(0);
  }

  /** A visitor's request begins. Call `visited` when it has ended. */
  visiting(held: Held<Connection>): void {
    held.visits += 1;
    if (held.state !== "silent" || held.tier === undefined) return;
    this.#become(held, "visitor");
    this.#place(held, this.#tolerated, held.peer.neighbourhood);
    this.#makeRoom(0);
  }

  visited(held: Held<Connection>): void {
    held.visits -= 1;
    if (held.visits > 0 || held.state !== "visitor" || held.tier === undefined) return;
    this.#boundAddress(held.peer);
    this.#become(held, "silent");
    this.#placeSilent(held);
  }

  /** The connection has ended. */
  close(held: Held<Connection>): void {
    if (held.tier === undefined) return;
    this.#leave(held);
    held.tier = undefined;
    this.#count(held, -1);
  }

  /** Makes room for one more silent connection of this address. */
  #boundAddress({ neighbourhood, isTrustedProxy }: Peer): void {
    if (isTrustedProxy || this.#silent.count(neighbourhood) < this.#bounds.perAddress) return;
    const oldest = this.#silent.oldestOf(neighbourhood);
    if (oldest !== undefined) this.#evict(oldest, "address");
  }

  #placeSilent(held: Held<Connection>): void {
    const { neighbourhood, isTrustedProxy } = held.peer;
    if (isTrustedProxy) this.#place(held, this.#tolerated, `proxy ${neighbourhood}`);
    else this.#place(held, this.#silent, neighbourhood);
  }

  /** Closes connections until there is room for so many files and closable connections more; false: there is none. */
  #makeRoom(more: 0 | 1): boolean {
    const { closable, files } = this.#bounds;
    while (this.#silent.size + this.#tolerated.size + more > closable || this.#files + more > files) {
      const next = this.#silent.oldestOfLargest() ?? this.#tolerated.oldestOfLargest();
      if (next === undefined) return false;
      this.#evict(next, "total");
    }
    return true;
  }

  #evict(held: Held<Connection>, reason: BoundReached): void {
    this.close(held);
    this.#observer.evict(held, reason);
  }

  #become(held: Held<Connection>, state: ConnectionState): void {
    this.#count(held, -1);
    held.state = state;
    this.#count(held, 1);
  }

  #count({ state }: Held<Connection>, change: 1 | -1): void {
    this.#files += change * FILES_OF[state];
    this.#observer.count(state, change);
  }

  #place(held: Held<Connection>, tier: Ranking<Held<Connection>>, key: string): void {
    this.#leave(held);
    held.tier = tier;
    held.rank = tier.add(key, held);
  }

  #leave({ tier, rank }: Held<Connection>): void {
    if (rank !== undefined) tier?.remove(rank);
  }
}
