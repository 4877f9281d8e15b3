// Header fields of a request that what listens in a guest gets. Credentials of ours are kept back because
// they are ours, and not because of the field that they stand in: an application has tokens and keys of its
// own in the same fields.

import { isId } from "@skerry/contract/ids";
import { isSecretProtocol, ORGANIZATION_PROTOCOL } from "../../api/authenticate-hook.ts";
import { SESSION_COOKIE } from "../../auth/session-cookie.ts";
import { splitSignature } from "../signed-urls/signature.ts";
import { VISIT_COOKIE } from "../signed-urls/visit-cookie.ts";
import { hopByHop, namedByConnection, type Field } from "./port-headers.ts";
import { splitPortUrl } from "./port-path.ts";

/** A token of ours: as it is, as E2B's clients take it, or one of theirs into a sandbox. Among other words
 *  too, such as those of a scheme. */
const TOKEN =
  /(?<![\w-])(?:sk_[\w-]{43}|e2b_736b5f(?:[0-9a-f]{2}){43}|ea_[0-9a-f]{64}_org_[0-9a-z]{26}_[\w-]{43})(?![\w-])/;

/** Cookies of ours. Browsers send that of a session to no port's name; other programs may. */
const COOKIES: ReadonlySet<string> = new Set([SESSION_COOKIE, VISIT_COOKIE]);

/** Fields in which a client shows us a token. */
const tokenFields: ReadonlySet<string> = new Set(["authorization", "x-access-token", "x-api-key"]);

/** Names that E2B's clients have for a sandbox, and no application. */
const ofE2bClients: ReadonlySet<string> = new Set([
  "e2b-sandbox-id",
  "e2b-sandbox-port",
  "e2b-traffic-access-token",
]);

/** We say these ourselves. */
const ours: ReadonlySet<string> = new Set([
  "content-length",
  // At the API's own origin a browser's cookies are those of the API. At its own, `ownCookies` has them.
  "cookie",
  "expect",
  "forwarded",
  "host",
  "http2-settings",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-prefix",
  "x-forwarded-proto",
  "x-real-ip",
]);

export interface ClientFacts {
  readonly address: string;
  readonly host: string;
  readonly protocol: string;
  /** Part of the path that the guest does not see; undefined where the guest sees all of it, at an origin of
   *  its own. */
  readonly prefix: string | undefined;
  /** `Host` that the guest gets; undefined: its own. */
  readonly guestHost?: string | undefined;
  /** Whether what listens there speaks TLS. */
  readonly isGuestTls?: boolean | undefined;
}

/** Fields that the guest gets. `Host` is the one that a development server expects; `X-Forwarded-Host` has
 *  the client's. */
export function fieldsForGuest(fields: readonly Field[], port: number, client: ClientFacts): Field[] {
  const named = namedByConnection(fields);
  const isOwnOrigin = client.prefix === undefined;
  const cookies = isOwnOrigin ? fields.flatMap(ownCookies) : [];
  const host = client.guestHost ?? `localhost:${port}`;
  const passed = fields
    .filter(([name, value]) => {
      const lower = name.toLowerCase();
      return !hopByHop.has(lower) && !ours.has(lower) && !named.has(lower) && !isCredential(lower, value);
    })
    .flatMap(withoutToken)
    .map((field) => atGuestsPlace(field, host, client));
  return [
    ["Host", host],
    ...passed,
    ...cookies,
    ["X-Forwarded-For", client.address],
    ["X-Forwarded-Host", client.host],
    ["X-Forwarded-Proto", client.protocol],
    ...(client.prefix === undefined ? [] : [["X-Forwarded-Prefix", client.prefix] as const]),
  ];
}

function isCredential(lower: string, value: string): boolean {
  if (ofE2bClients.has(lower)) return true;
  if (lower === "x-org-id") return isId("organization", value.trim());
  return tokenFields.has(lower) && TOKEN.test(value);
}

/** At its own origin an app has cookies of its own. The one that lets a visitor in is none of them. */
function ownCookies([name, value]: Field): Field[] {
  if (name.toLowerCase() !== "cookie") return [];
  const others = value.split(";").filter((one) => !COOKIES.has(one.split("=", 1)[0]?.trim() ?? ""));
  return others.length === 0 ? [] : [["Cookie", others.join(";").trim()]];
}

/** A page may offer its token as a subprotocol of a WebSocket. */
function withoutToken([name, value]: Field): Field[] {
  if (name.toLowerCase() !== "sec-websocket-protocol") return [[name, value]];
  const isOurs = (one: string) => one.startsWith(ORGANIZATION_PROTOCOL) || isSecretProtocol(one);
  const others = value.split(",").filter((one) => !isOurs(one.trim()));
  return others.length === 0 ? [] : [[name, others.join(",").trim()]];
}

/** Servers compare `Origin` and `Referer` with `Host`, which is not the client's. Those of the place that the
 *  request was sent to become those of the guest; all others are another site's, and stay. */
function atGuestsPlace([name, value]: Field, host: string, client: ClientFacts): Field {
  const lower = name.toLowerCase();
  if (lower !== "origin" && lower !== "referer") return [name, value];
  // A page that a signed URL has opened is named whole to what it loads from its own origin.
  const told = lower === "referer" ? splitSignature(value).rest : value;
  const path = pathAt(told, client.host);
  if (path === undefined) return [name, told];
  const guests = `${client.isGuestTls === true ? "https" : "http"}://${host}`;
  if (lower === "origin" || client.prefix === undefined) return [name, guests + path];
  // Another page at the API's own origin is none of this port.
  const { prefix, guestUrl } = splitPortUrl(path);
  return [name, prefix === client.prefix ? guests + guestUrl : told];
}

/** The part of an address behind its host; undefined where that is another host. */
function pathAt(address: string, host: string): string | undefined {
  const [, scheme = "", place = "", path = ""] = /^(https?):\/\/([^/?#@]+)([/?#].*)?$/i.exec(address) ?? [];
  if (scheme === "" || hostIn(scheme, place) !== hostIn(scheme, host)) return undefined;
  return path;
}

/** In lower case, and without the port that goes without saying. */
function hostIn(scheme: string, host: string): string | undefined {
  return URL.parse(`${scheme}://${host}`)?.host;
}
