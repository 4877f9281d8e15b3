// Commands by which a proxy that runs goes from what it was told to what it is to serve. Pure.

import type { EdgeInstance } from "@skerry/contract/host-api/edge";
import { NOWHERE, placeName, seatName } from "./haproxy-config.ts";
import { isGrown, isSameInstance, type Seating } from "./seating.ts";

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
  readonly routes: ReadonlyMap<string, string>;
}

/** `map`: path of the map of routes. */
export function routeCommands(map: string, { routes: before }: Told, { routes: after }: Told): string[] {
  const gone = [...before.keys()].filter((key) => !after.has(key)).map((key) => `del map ${map} ${key}`);
  const set = [...after]
    .filter(([key, place]) => before.get(key) !== place)
    .map(([key, place]) => `${before.has(key) ? "set" : "add"} map ${map} ${key} ${place}`);
  return [...set, ...gone];
}

export function areEqual(before: Told, after: Told): boolean {
  return (
    !isGrown(before.seating, after.seating) &&
    seatCommands(before, after).length === 0 &&
    leavingCommands(before, after).length === 0 &&
    concurrencyCommands(before, after).length === 0 &&
    before.routes.size === after.routes.size &&
    [...after.routes].every(([key, place]) => before.routes.get(key) === place)
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

/** Requests that instances may have at once. */
export function concurrencyCommands(before: Told, after: Told): string[] {
  return after.seating.flatMap(({ concurrency, seats }, place) =>
    concurrency === before.seating[place]?.concurrency
      ? []
      : seats.map((_, seat) => `set maxconn server ${placeName(place)}/${seatName(seat)} ${concurrency}`),
  );
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
