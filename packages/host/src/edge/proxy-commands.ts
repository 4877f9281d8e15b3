// Commands by which a proxy that runs goes from what it was told to what it is to serve. Pure.

import type { EdgeInstance } from "@skerry/contract/host-api/edge";
import { NOWHERE } from "./haproxy-config.ts";
import { peerName, weightOf, type InnerDoor } from "./inner-door.ts";
import type { TcpRange } from "./tcp.ts";
import { isGrown, isSameInstance, placeName, seatName, type Seating } from "./seating.ts";

type SeatState = "ready" | "drain" | "maint";

export interface Seat {
  readonly instance: EdgeInstance | null;
  /** ADDRESS:PORT; undefined: requests go to none there. */
  readonly address: string | undefined;
  readonly state: SeatState;
}

/** All that the proxy was told. */
export interface Told {
  readonly seating: Seating;
  readonly seats: readonly (readonly Seat[])[];
  readonly routes: Entries;
  /** Backends for requests of other hosts. */
  readonly doors: Entries;
  /** Places of ports for plain TCP. */
  readonly ports: Entries;
  readonly tcp: TcpRange | undefined;
  readonly door: InnerDoor | undefined;
  /** Certificate of this host. */
  readonly certificate: string | undefined;
}

type Entries = ReadonlyMap<string, string>;

/** Whether the proxy needs another configuration, and not only other values in it. */
export function needsConfig(before: Told, after: Told): boolean {
  return (
    isGrown(before.seating, after.seating) ||
    before.certificate !== after.certificate ||
    JSON.stringify([before.door, before.tcp]) !== JSON.stringify([after.door, after.tcp])
  );
}

/** `map`: path of a map. */
export function mapCommands(map: string, before: Entries, after: Entries): string[] {
  const gone = [...before.keys()].filter((key) => !after.has(key)).map((key) => `del map ${map} ${key}`);
  const set = [...after]
    .filter(([key, place]) => before.get(key) !== place)
    .map(([key, place]) => `${before.has(key) ? "set" : "add"} map ${map} ${key} ${place}`);
  return [...set, ...gone];
}

export function areEqual(before: Told, after: Told): boolean {
  return (
    !needsConfig(before, after) &&
    seatCommands(before, after).length === 0 &&
    leavingCommands(before, after).length === 0 &&
    placeCommands(before, after).length === 0 &&
    mapCommands("", before.ports, after.ports).length === 0 &&
    mapCommands("", before.routes, after.routes).length === 0 &&
    mapCommands("", before.doors, after.doors).length === 0
  );
}

/**
 * Seats that get an instance, or another state. An instance that comes takes the seat of one that has left
 * only after its connections were cut.
 */
export function seatCommands(before: Told, after: Told): string[] {
  return pairs(before, after).flatMap(({ name, was, is, isSticky }) => {
    if (is.instance === null || is.address === undefined) return [];
    const isNew = !isSameInstance(was.instance, is.instance) || was.address !== is.address;
    const [address, port] = is.address.split(":");
    const moved = [`set server ${name} addr ${address} port ${port}`];
    if (isNew)
      return [
        ...(was.address === undefined ? [] : cut(name)),
        ...moved,
        `set server ${name} state ${commandedState(is.state, isSticky)}`,
      ];
    return was.state === is.state ? [] : [`set server ${name} state ${commandedState(is.state, isSticky)}`];
  });
}

/**
 * The proxy goes on sending clients to a server that drains where their cookie says so. In maintenance it
 * does not, and connections go on all the same.
 */
function commandedState(state: SeatState, isSticky: boolean): SeatState {
  return state === "drain" && isSticky ? "maint" : state;
}

/** Requests that instances may have at once, and parts of other hosts in them. */
export function placeCommands(before: Told, after: Told): string[] {
  return after.seating.flatMap((is, place) => {
    const was = before.seating[place];
    const name = placeName(place);
    const bounds =
      is.concurrency === was?.concurrency
        ? []
        : is.seats.map((_, seat) => `set maxconn server ${name}/${seatName(seat)} ${is.concurrency}`);
    const peers = is.isOwn ? [] : (after.door?.peers ?? []);
    const weights = peers.flatMap((peer, index) => {
      const weight = weightOf(is, peer);
      const isKnown = was !== undefined && weightOf(was, peer) === weight;
      return isKnown ? [] : [`set server ${name}/${peerName(index)} weight ${weight}`];
    });
    return [...bounds, ...weights];
  });
}

export function leavingCommands(before: Told, after: Told): string[] {
  const [address, port] = NOWHERE.split(":");
  return pairs(before, after).flatMap(({ name, was, is }) =>
    was.address !== undefined && is.address === undefined
      ? [...cut(name), `set server ${name} addr ${address} port ${port}`]
      : [],
  );
}

function cut(name: string): string[] {
  return [`set server ${name} state maint`, `shutdown sessions server ${name}`];
}

function* seatPairs(before: Told, after: Told) {
  for (const [place, seats] of after.seats.entries())
    for (const [seat, is] of seats.entries()) {
      const was = before.seats[place]?.[seat] ?? {
        instance: null,
        address: undefined,
        state: "maint" as const,
      };
      const { isSticky = false } = after.seating[place] ?? {};
      yield { name: `${placeName(place)}/${seatName(seat)}`, was, is, isSticky };
    }
}
const pairs = (before: Told, after: Told) => [...seatPairs(before, after)];

/** Places whose seats get another address by these commands. */
export function placesOf(commands: readonly string[]): ReadonlySet<string> {
  return new Set(commands.flatMap((command) => / (b\d+)\/s\d+ addr /.exec(command)?.[1] ?? []));
}
