// Services that are plain TCP: ports of this host, and connections that hosts pass on to each other beside
// requests. Such a connection has no head that could name its backend, and the name that TLS asks for is that
// of the host. So the proxy puts the line of the PROXY protocol in front of it, inside TLS: it sends it to a
// socket of its own, from which all goes on to the other host as it is, and there the other way round. Pure.

import type { EdgeDocument } from "@skerry/contract/host-api/edge";
import { hostUri } from "@skerry/contract/joining/host-certificate";
import { acceptedDoor, peerName, secured, type InnerDoor } from "./inner-door.ts";
import type { ProxyFiles } from "./proxy-files.ts";
import { placeName, type Seating } from "./seating.ts";
import { besideDoor, passSocket } from "./tcp-words.ts";

/** Ports that the proxy listens on, of which the map says where they lead. */
export type TcpRange = Pick<NonNullable<EdgeDocument["tcp"]>, "first" | "last">;

/** Defaults that sections name which are not HTTP. */
export const TCP_DEFAULTS = "tcp";

/** An idle connection is cut after an hour. */
export const tcpDefaults = `defaults ${TCP_DEFAULTS}
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout client-fin 10s
  timeout server 1h
  timeout server-fin 10s
  timeout tunnel 1h
  timeout queue 10s
  retries 1
  option redispatch 1
  balance leastconn`;

interface TcpFacts {
  /** ADDRESS:PORT for requests. */
  readonly listen: string;
  /** Lines that bound connections of one address. */
  readonly bounds: string;
  readonly uid: number;
  readonly files: ProxyFiles;
  readonly door: InnerDoor | undefined;
}

/** Frontends of ports, and what passes connections on. */
export function tcpText({ first, last }: TcpRange, facts: TcpFacts): string {
  const { listen, bounds, files, door } = facts;
  const [address] = listen.split(":");
  const ports = `frontend tcp from ${TCP_DEFAULTS}
  bind ${address}:${first}-${last}
${bounds}
  unique-id-format %[var(txn.backend)]
  tcp-request content set-var(txn.entry) dst_port,map(${files.ports})
  tcp-request content reject unless { var(txn.entry) -m found }
  tcp-request content set-var(txn.backend) var(txn.entry),field(2,|)
  use_backend %[var(txn.entry),field(1,|)]`;
  return door === undefined ? ports : [ports, doorText(door, facts), ...passText(door, facts)].join("\n");
}

const INSIDE_SOCKET = "inside.sock";

/** A connection that comes in goes to an instance of this host alone. */
function doorText({ listen }: InnerDoor, { files, uid }: TcpFacts): string {
  return `frontend tcp_doors from ${TCP_DEFAULTS}
  bind ${besideDoor(listen)} ${acceptedDoor(files)}
  tcp-request content reject unless { ssl_c_s_dn(CN) -m beg ${hostUri("")} }
  default_backend tcp_inside
backend tcp_inside from ${TCP_DEFAULTS}
  server inside unix@/${INSIDE_SOCKET}
frontend tcp_inside from ${TCP_DEFAULTS}
  bind ${socketOf(INSIDE_SOCKET, { files, uid })} accept-proxy
  tcp-request content set-var(txn.door) fc_pp_unique_id,map_str(${files.doors})
  tcp-request content reject unless { var(txn.door) -m found }
  use_backend %[var(txn.door),field(1,|)]`;
}

function passText({ peers }: InnerDoor, { files, uid }: TcpFacts): string[] {
  return peers.map((peer, index) => {
    const name = `pass_${peerName(index)}`;
    return `frontend ${name} from ${TCP_DEFAULTS}
  bind ${socketOf(passSocket(index), { files, uid })}
  default_backend ${name}
backend ${name} from ${TCP_DEFAULTS}
  server ${peerName(index)} ${secured({ ...peer, address: besideDoor(peer.address) }, files)}`;
  });
}

/** A socket in the folder that the proxy is shut up in, for itself alone. */
function socketOf(name: string, { files, uid }: Pick<TcpFacts, "files" | "uid">): string {
  return `unix@${files.empty}/${name} mode 600 uid ${uid}`;
}

/** Lines `PORT PLACE|BACKEND`. */
export function portEntries(
  seating: Seating,
  { tcp }: Pick<EdgeDocument, "tcp">,
): ReadonlyMap<string, string> {
  const places = new Map(seating.map(({ backend }, place) => [backend, placeName(place)]));
  const entries = (tcp?.ports ?? []).flatMap(({ port, backend }) => {
    const place = places.get(backend);
    return place === undefined ? [] : [[String(port), `${place}|${backend}`] as const];
  });
  return new Map(entries);
}
