// Requests that hosts pass on to each other: the frontend at which those of other hosts come in, and other
// hosts as servers of a backend. A request that comes in goes to an instance of this host, and once more to
// another host where none is left: the two learn of a change at different times. Pure.

import type { EdgeDocument } from "@skerry/contract/host-api/edge";
import { hostUri } from "@skerry/contract/joining/host-certificate";
import type { ProxyFiles } from "./proxy-files.ts";
import { passedWords } from "./tcp-words.ts";
import { OWN, placeName, type Place, type Seating } from "./seating.ts";

type Backend = EdgeDocument["backends"][number];

/** Addresses by which hosts pass requests on. */
export interface InnerDoor {
  /** ADDRESS:PORT to listen on. */
  readonly listen: string;
  readonly peers: readonly Peer[];
}

export interface Peer {
  readonly host: string;
  readonly address: string;
}

/** Headers between hosts; no instance gets the second one, and no client may send either. */
const BACKEND_HEADER = "x-skerry-backend";
const PASSED_HEADER = "x-skerry-passed";
export const INNER_HEADERS = [BACKEND_HEADER, PASSED_HEADER] as const;

export function peersOf({ peers = {} }: Pick<EdgeDocument, "peers">): Peer[] {
  return Object.entries(peers)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([host, address]) => ({ host, address }));
}

/** Backends as places are given to them: each one again for requests that come in from other hosts. */
export function withOwn(
  { backends }: Pick<EdgeDocument, "backends">,
  door: InnerDoor | undefined,
): readonly Backend[] {
  return backends.flatMap(({ elsewhere, ...own }) =>
    door === undefined
      ? [own]
      : [
          { ...own, ...(elsewhere !== undefined && { elsewhere }) },
          { ...own, id: own.id + OWN },
        ],
  );
}

/** Lines `BACKEND PLACE|PLACE`: the place of this host's own instances, and that of all. */
export function doorEntries(seating: Seating): ReadonlyMap<string, string> {
  const places = new Map(seating.map(({ backend }, place) => [backend, placeName(place)]));
  const entries = [...places].flatMap(([backend, place]) => {
    const own = places.get(`${backend}${OWN}`);
    return backend === null || own === undefined ? [] : [[backend, `${own}|${place}`] as const];
  });
  return new Map(entries);
}

/** Weight of another host in a place: as many instances as it has. */
export function weightOf({ elsewhere }: Pick<Place, "elsewhere">, { host }: Peer): number {
  return elsewhere[host] ?? 0;
}

export const peerName = (peer: number): string => `p${peer}`;

/** TLS with the certificates of hosts, for who listens. */
export const acceptedDoor = ({ identity, authority }: ProxyFiles): string =>
  `ssl crt ${identity} ca-file ${authority} verify required ssl-min-ver TLSv1.3`;

/** Its frontend, and the backend whose servers are looked at in the name of those of all others. */
export function innerDoorText({ listen, peers }: InnerDoor, files: ProxyFiles): string {
  const checked = peers.map(
    (peer, index) => `  server ${peerName(index)} ${secured(peer, files)} check inter 2s fall 2 rise 1`,
  );
  return [
    `frontend doors
  bind ${listen} ${acceptedDoor(files)} alpn h2,http/1.1
  unique-id-format %[req.hdr(x-request-id)]
  http-request reject unless { ssl_c_s_dn(CN) -m beg ${hostUri("")} }
  http-request set-var(txn.door) req.hdr(${BACKEND_HEADER}),map_str(${files.doors})
  http-request deny deny_status 503 unless { var(txn.door) -m found }
  http-request set-var(txn.place) var(txn.door),field(1,|)
  http-request set-var(txn.own) var(txn.place),nbsrv
  http-request set-var(txn.place) var(txn.door),field(2,|) if { var(txn.own) -m int 0 } !{ req.hdr(${PASSED_HEADER}) -m found }
  http-request set-header ${PASSED_HEADER} 1 if { var(txn.own) -m int 0 }
  http-request del-header ${PASSED_HEADER} unless { var(txn.own) -m int 0 }
  http-request del-header ${BACKEND_HEADER} unless { var(txn.own) -m int 0 }
  use_backend %[var(txn.place)]
backend peers`,
    ...checked,
  ].join("\n");
}

/** Servers of a place that are other hosts. */
export function peerLines(place: Place, { peers }: InnerDoor, files: ProxyFiles): string[] {
  if (place.isOwn) return [];
  return peers.map((peer, index) => {
    const words = [
      place.protocol === "tcp" ? passedWords(index) : secured(peer, files),
      ...(place.protocol === "h2" ? ["alpn", "h2"] : []),
      ...(place.isSticky ? ["cookie", peerName(index)] : []),
      ...["track", `peers/${peerName(index)}`, "weight", String(weightOf(place, peer))],
    ];
    return `  server ${peerName(index)} ${words.join(" ")}`;
  });
}

/** Another host as a server, which has to show that it is this one. */
export function secured({ host, address }: Peer, { identity, authority }: ProxyFiles): string {
  return `${address} ssl crt ${identity} ca-file ${authority} verify required verifyhost ${hostUri(host)} ssl-min-ver TLSv1.3 init-addr libc,none`;
}
