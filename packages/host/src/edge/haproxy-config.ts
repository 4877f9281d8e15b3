// The proxy's configuration and its map of routes, as text. Pure. Both are written after each change too, so
// that a proxy that starts anew serves what the one before has served.

import type { EdgeDocument } from "@skerry/contract/host-api/edge";
import { PREFIX_SEGMENTS_MAX } from "@skerry/contract/apps/app-bounds";
import { answerLines, answersTable, trackLines } from "./answers.ts";
import { failureLines, failuresRing } from "./failures.ts";
import { INNER_HEADERS, innerDoorText, peerLines, type InnerDoor } from "./inner-door.ts";
import type { ProxyFiles } from "./proxy-files.ts";
import { placeName, seatName, type Place, type Seating } from "./seating.ts";
import { TCP_DEFAULTS, tcpDefaults, tcpText, type TcpRange } from "./tcp.ts";

export interface ConfigFacts {
  readonly files: ProxyFiles;
  readonly uid: number;
  readonly listen: string;
  /** Connections of one address at once. */
  readonly perAddress: number;
  /** Undefined: it takes no connections that are not HTTP. */
  readonly tcp: TcpRange | undefined;
  /** Undefined: other hosts serve nothing with it. */
  readonly door: InnerDoor | undefined;
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
/** Clients that are counted; those that were seen longest ago are forgotten first. */
const CLIENTS_MAX = "100k";
/** A name and a port, and nothing that an app could read as another name or a path. */
const HOST = "^[a-z0-9.-]+(:[0-9]{1,5})?$";
/** Place of routes whose requests no instance gets. */
const MAINTENANCE = "maintenance";
/** Tells that a route has more than its place, which few have: the rules for it are left out for others. */
const MORE = "more";
const LIMITED = "{ var(txn.limit) -m int gt 0 }";

const httpDefaults = `defaults
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
  option abortonclose
  retry-on conn-failure
  balance leastconn
  ${errorLine(503, "app_unavailable", "No instance of the app takes requests now.")}
  ${errorLine(502, "app_failed", "The app broke off, or did not answer in HTTP.")}
  ${errorLine(504, "app_timeout", "The app did not answer in time.")}
  ${errorLine(400, "bad_request", "The request is not HTTP as it should be.")}
  ${errorLine(408, "request_timeout", "The request did not come whole in time.")}`;

/**
 * Retries are for connections that were not made: a request that was sent may have been carried out. A head
 * has 32 KiB at most, and 10 s to come. Headers that tell of the client are the proxy's own, whatever the
 * client sent. An instance is told when its client has left (`abortonclose`), as with a stream of events that
 * is not read any more. `Upgrade: h2c` would make a tunnel of a connection, past all of this.
 */
export function configOf(seating: Seating, facts: ConfigFacts): string {
  const { files, uid, listen, door, tcp, perAddress } = facts;
  const bounds = boundLines(perAddress);
  return [
    `global
  stats socket ${files.socket} mode 600 level admin expose-fd listeners
  uid ${uid}
  gid ${uid}
  chroot ${files.empty}
  fd-hard-limit ${FILES_MAX}
  hard-stop-after 1h
  tune.bufsize 32768
${failuresRing}
${tcpDefaults}
${httpDefaults}
frontend apps
  bind ${listen}
${bounds}
${failureLines("var(txn.route),field(2,|)")}
  unique-id-format %[uuid()]
  http-request del-header ^(x-forwarded-.*|forwarded|http2-settings|${INNER_HEADERS.join("|")})$ -m reg
  http-request del-header upgrade if { req.hdr(upgrade),lower -m sub h2c }
  http-request set-header x-request-id %[unique-id]
  http-request set-header x-forwarded-for %[src]
  http-request set-header x-forwarded-proto http
  http-request set-header x-forwarded-host %[req.hdr(host)]
  http-request set-header forwarded "for=%[src];proto=http;host=\\"%[req.hdr(host)]\\""
  http-request deny deny_status 400 unless { req.fhdr(host) -m reg -i ${HOST} }
  http-request set-var(txn.host) req.fhdr(host),host_only,lower
  http-request set-var(txn.path) path
  http-request set-var(txn.route) var(txn.host),concat(,txn.path,/),map_beg(${files.routes})
  http-request set-var(txn.place) var(txn.route),field(1,|)
${trackLines("var(txn.route),field(3,|)")}
  http-request return status 404 content-type application/json lf-string ${body("route_not_found", "No app is served under this name and path.")} unless { var(txn.route) -m found }
  http-request allow unless { var(txn.route),field(4,|) -m str ${MORE} }
  http-request set-var(txn.strip) var(txn.route),field(5,|)
  http-request set-var(txn.limit) var(txn.route),field(6,|)
  http-request set-var(txn.backend) var(txn.route),field(7,|)
  http-request track-sc0 src,concat(|,txn.place) table clients if ${LIMITED}
  http-request return status 429 content-type application/json hdr retry-after 1 lf-string ${body("rate_limited", "There are too many requests from this address.")} if ${LIMITED} { sc_http_req_rate(0,clients),sub(txn.limit) gt 0 }
${stripLines()}
  http-request set-header ${INNER_HEADERS[0]} %[var(txn.backend)] if { var(txn.backend) -m len gt 0 }
  http-after-response set-header x-request-id %[unique-id]
${answerLines()}
  use_backend %[var(txn.place)]
backend clients
  stick-table type string len 80 size ${CLIENTS_MAX} expire 10s store http_req_rate(1s)
backend addresses
  stick-table type ip size ${CLIENTS_MAX} expire 10s store conn_cur
${answersTable}
${maintenanceText()}`,
    ...(door === undefined ? [] : [innerDoorText(door, files)]),
    ...(tcp === undefined ? [] : [tcpText(tcp, { listen, bounds, uid, files, door })]),
    ...seating.map((one, place) => backendText(one, place, facts)),
    "",
  ].join("\n");
}

/** Answers of routes that are in maintenance, which are no failures. */
function maintenanceText(): string {
  return `backend ${MAINTENANCE}
  http-request set-log-level silent
  http-request return status 503 content-type application/json hdr retry-after 30 lf-string ${body("app_in_maintenance", "The app is in maintenance.")}`;
}

function boundLines(perAddress: number): string {
  return `  tcp-request connection track-sc1 src table addresses
  tcp-request connection reject if { sc_conn_cur(1,addresses) gt ${perAddress} }`;
}

function backendText(one: Place, place: number, { address, door, files }: ConfigFacts): string {
  const { protocol, isSticky, concurrency, seats } = one;
  const servers = seats.map((_, seat) => {
    const at = address(place, seat);
    const words = [
      at ?? NOWHERE,
      ...(protocol === "h2" ? ["proto", "h2"] : []),
      ...(isSticky ? ["cookie", seatName(seat)] : []),
    ];
    const state = at === undefined ? " disabled" : "";
    return `  server ${seatName(seat)} ${words.join(" ")} maxconn ${concurrency}${state}`;
  });
  const name = one.isOwn ? "skerry_own_instance" : "skerry_instance";
  const cookie = isSticky ? [`  cookie ${name} insert indirect nocache httponly`] : [];
  const peers = door === undefined ? [] : peerLines(one, door, files);
  const of = protocol === "tcp" ? ` from ${TCP_DEFAULTS}` : "";
  return [`backend ${placeName(place)}${of}`, ...cookie, ...servers, ...peers].join("\n");
}

/** A prefix of so many segments is taken away from the path. */
function stripLines(): string {
  return Array.from({ length: PREFIX_SEGMENTS_MAX }, (_, index) => index + 1)
    .map(
      (count) =>
        `  http-request set-path /%[path,field(${count + 2},/,0)] if { var(txn.strip) -m int ${count} }`,
    )
    .join("\n");
}

/**
 * Lines `KEY PLACE|APP|ID`, and of few routes `|more|SEGMENTS|LIMIT|BACKEND`: segments to take away, and
 * requests in a second; 0: none. The backend is named where other hosts serve it too.
 */
export function routeEntries(
  seating: Seating,
  { routes }: Pick<EdgeDocument, "routes">,
): ReadonlyMap<string, string> {
  const places = new Map(seating.map((one, place) => [one.backend, { ...one, name: placeName(place) }]));
  const entries = routes.flatMap(
    ({ host, path_prefix, backend, strip_prefix, rate_limit = 0, maintenance, app = "", id = "" }) => {
      const place = places.get(backend);
      if (place === undefined) return [];
      const segments = strip_prefix === true ? path_prefix.split("/").length - 2 : 0;
      const passed = Object.keys(place.elsewhere).length > 0 ? backend : "";
      const isPlain = segments === 0 && rate_limit === 0 && passed === "";
      const more = [MORE, segments, rate_limit, passed];
      return [
        [
          `${host}${path_prefix}`,
          [maintenance === true ? MAINTENANCE : place.name, app, id, ...(isPlain ? [] : more)].join("|"),
        ] as const,
      ];
    },
  );
  return new Map(entries);
}

function errorLine(status: number, code: string, message: string): string {
  return `http-error status ${status} content-type application/json lf-string ${body(code, message)}`;
}

function body(code: string, message: string): string {
  const text = JSON.stringify({ code, message, request_id: "%ID" });
  return `"${text.replaceAll('"', '\\"')}\\n"`;
}
