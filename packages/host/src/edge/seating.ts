// Places of backends in the proxy's configuration, and seats of their instances. The proxy knows its backends
// and servers from its start on, so the configuration has empty ones for later: a document that finds places
// and seats enough is applied without a reload. Pure.

import { CONCURRENCY_MAX } from "@skerry/contract/apps/app-bounds";
import type { EdgeDocument, EdgeInstance } from "@skerry/contract/host-api/edge";

type Backend = EdgeDocument["backends"][number];
type Protocol = Backend["protocol"];

/** A backend of the configuration. */
export interface Place {
  readonly protocol: Protocol;
  /** It has a cookie. */
  readonly isSticky: boolean;
  /** Requests of one instance at once. */
  readonly concurrency: number;
  /** Only requests that come in from other hosts go there. */
  readonly isOwn: boolean;
  /** Null: nothing has it. */
  readonly backend: string | null;
  /** Instances that other hosts have, by the ids of hosts. */
  readonly elsewhere: Readonly<Record<string, number>>;
  readonly seats: readonly (EdgeInstance | null)[];
}

export type Seating = readonly Place[];

/** End of the ids of backends that only instances of this host serve. */
export const OWN = "@own";

/** Places of each protocol at first; they double when none is free. */
const PLACES_FIRST: Readonly<Record<Protocol, number>> = { http: 64, h2: 4, tcp: 4 };
const STICKY_PLACES_FIRST = 8;
/** Seats of a place at first; they double too. */
const SEATS_FIRST = 8;

type Kind = Pick<Place, "protocol" | "isSticky" | "isOwn">;

const kindOf = ({ id, protocol, sticky = false }: Backend): Kind => ({
  ...{ protocol, isSticky: sticky },
  isOwn: id.endsWith(OWN),
});

function isOfKind(place: Place, { protocol, isSticky, isOwn }: Kind): boolean {
  return place.protocol === protocol && place.isSticky === isSticky && place.isOwn === isOwn;
}

const NOTHING = { concurrency: CONCURRENCY_MAX, backend: null, elsewhere: {} } as const;

const freePlace = (kind: Kind): Place => ({
  ...kind,
  ...NOTHING,
  seats: Array.from({ length: SEATS_FIRST }, () => null),
});

export const placeName = (place: number): string => `b${place}`;
export const seatName = (seat: number): string => `s${seat}`;

/** Keeps what has a place and a seat there. */
export function seated(before: Seating, backends: readonly Backend[]): Seating {
  const byId = new Map(backends.map((backend) => [backend.id, backend]));
  const places = before.map((place) => {
    const wanted = place.backend === null ? undefined : byId.get(place.backend);
    const isSame = wanted !== undefined && isOfKind(place, kindOf(wanted));
    return isSame ? withInstances(place, wanted) : emptied(place);
  });
  const known = new Set(places.map(({ backend }) => backend));
  for (const backend of backends) {
    if (known.has(backend.id)) continue;
    const at = freeAt(places, kindOf(backend));
    places[at] = withInstances(places[at] ?? freePlace(kindOf(backend)), backend);
  }
  return places;
}

/** Whether the proxy needs another configuration, and not only other addresses in it. */
export function isGrown(before: Seating, after: Seating): boolean {
  return (
    before.length !== after.length ||
    after.some(({ seats }, index) => seats.length !== before[index]?.seats.length)
  );
}

export function isSameInstance(
  one: EdgeInstance | null | undefined,
  other: EdgeInstance | null | undefined,
): boolean {
  if (one === null || one === undefined || other === null || other === undefined) return false;
  return one.vm === other.vm && one.execution_id === other.execution_id && one.port === other.port;
}

/** Adds places where none is free. */
function freeAt(places: Place[], kind: Kind): number {
  const found = places.findIndex((place) => place.backend === null && isOfKind(place, kind));
  if (found >= 0) return found;
  const at = places.length;
  const own = places.filter((place) => isOfKind(place, kind)).length;
  const first = kind.isSticky ? STICKY_PLACES_FIRST : PLACES_FIRST[kind.protocol];
  places.push(...Array.from({ length: own === 0 ? first : own }, () => freePlace(kind)));
  return at;
}

function emptied(place: Place): Place {
  return { ...place, ...NOTHING, seats: place.seats.map(() => null) };
}

function withInstances(
  place: Place,
  { id, instances, elsewhere = {}, concurrency = CONCURRENCY_MAX }: Backend,
): Place {
  const seats = place.seats.map((seat) => instances.find((one) => isSameInstance(one, seat)) ?? null);
  for (const instance of instances) {
    if (seats.some((seat) => isSameInstance(seat, instance))) continue;
    const free = seats.indexOf(null);
    if (free >= 0) seats[free] = instance;
    else seats.push(instance, ...Array.from({ length: seats.length - 1 }, () => null));
  }
  return { ...place, concurrency, backend: id, elsewhere, seats };
}
