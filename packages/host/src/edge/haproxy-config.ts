// The proxy's configuration and its map of routes, as text. Pure. Both are written after each change too, so
// that a proxy that starts anew serves what the one before has served.

import type { EdgeDocument } from "@skerry/contract/host-api/edge";
import type { Seating } from "./seating.ts";

export interface ProxyFiles {
  readonly config: string;
  /** The map of routes. */
  readonly routes: string;
  /** The socket of commands, which is as much as the proxy itself: for root alone. */
  readonly socket: string;
  readonly pid: string;
  /** A folder with nothing in it, in which the proxy is shut up. */
  readonly empty: string;
}

export interface ConfigFacts {
  readonly files: ProxyFiles;
  readonly uid: number;
  readonly listen: string;
  /** ADDRESS:PORT of each seat that requests may go to. */
  readonly address: (place: number, seat: number) => string | undefined;
}

/** A seat that is empty. */
export const NOWHERE = "127.0.0.1:1";
/**
 * Two for each request that is under way, where the machine allows so many: the proxy takes as many
 * connections as it has files for.
 */
const FILES_MAX = 40_000;
/** Requests that one instance works on at once; the others wait. */
const REQUESTS_PER_INSTANCE = 500;

export const placeName = (place: number): string => `b${place}`;
export const seatName = (seat: number): string => `s${seat}`;

/**
 * Retries are for connections that were not made: a request that was sent may have been carried out. A head
 * has 32 KiB at most, and 10 s to come. Headers that tell of the client are the proxy's own, whatever the
 * client sent. `Upgrade: h2c` would make a tunnel of a connection, past all of this.
 */
export function configOf(seating: Seating, { files, uid, listen, address }: ConfigFacts): string {
  return [
    `global
  stats socket ${files.socket} mode 600 level admin expose-fd listeners
  uid ${uid}
  gid ${uid}
  chroot ${files.empty}
  fd-hard-limit ${FILES_MAX}
  hard-stop-after 1h
  tune.bufsize 32768
defaults
  mode http
  timeout connect 2s
  timeout client 1m
  timeout client-fin 10s
  timeout http-request 10s
  timeout http-keep-alive 1m
  timeout queue 10s
  timeout server 5m
  timeout tunnel 1h
  retries 1
  option redispatch 1
  retry-on conn-failure
  balance leastconn
  ${errorLine(503, "app_unavailable", "No instance of the app takes requests now.")}
  ${errorLine(502, "app_failed", "The app broke off, or did not answer in HTTP.")}
  ${errorLine(504, "app_timeout", "The app did not answer in time.")}
  ${errorLine(400, "bad_request", "The request is not HTTP as it should be.")}
  ${errorLine(408, "request_timeout", "The request did not come whole in time.")}
frontend apps
  bind ${listen}
  unique-id-format %[uuid()]
  http-request del-header ^(x-forwarded-.*|forwarded|http2-settings)$ -m reg
  http-request del-header upgrade if { req.hdr(upgrade),lower -m sub h2c }
  http-request set-header x-request-id %[unique-id]
  http-request set-header x-forwarded-for %[src]
  http-request set-header x-forwarded-proto http
  http-request set-header x-forwarded-host %[req.hdr(host)]
  http-request set-header forwarded "for=%[src];proto=http;host=\\"%[req.hdr(host)]\\""
  http-request set-var(txn.host) hdr(host),host_only,lower
  http-request set-var(txn.path) path
  http-request set-var(txn.place) var(txn.host),concat(,txn.path,/),map_beg(${files.routes})
  http-request return status 404 content-type application/json lf-string ${body("route_not_found", "No app is served under this name and path.")} unless { var(txn.place) -m found }
  http-after-response set-header x-request-id %[unique-id]
  use_backend %[var(txn.place)]`,
    ...seating.map(({ protocol, seats }, place) =>
      [
        `backend ${placeName(place)}`,
        ...seats.map((_, seat) => {
          const at = address(place, seat);
          const words = [at ?? NOWHERE, ...(protocol === "h2" ? ["proto", "h2"] : [])];
          const state = at === undefined ? " disabled" : "";
          return `  server ${seatName(seat)} ${words.join(" ")} maxconn ${REQUESTS_PER_INSTANCE}${state}`;
        }),
      ].join("\n"),
    ),
    "",
  ].join("\n");
}

/** Lines `KEY PLACE`. */
export function routeEntries(
  seating: Seating,
  { routes }: Pick<EdgeDocument, "routes">,
): ReadonlyMap<string, string> {
  const places = new Map(seating.map(({ backend }, place) => [backend, placeName(place)]));
  const entries = routes.flatMap(({ host, path_prefix, backend }) => {
    const place = places.get(backend);
    return place === undefined ? [] : [[`${host}${path_prefix}`, place] as const];
  });
  return new Map(entries);
}

function errorLine(status: number, code: string, message: string): string {
  return `http-error status ${status} content-type application/json lf-string ${body(code, message)}`;
}

function body(code: string, message: string): string {
  const text = JSON.stringify({ code, message, request_id: "%ID" });
  return `"${text.replaceAll('"', '\\"')}\\n"`;
}
