// Header fields that pass from what listens in a guest to a client; `fields-for-guest.ts` has the other way.
// The guest is hostile to the API's own origin, on which its answers appear: whatever a browser would do for
// that origin because of an answer, it must not do.

import { SkerryError } from "@skerry/contract/errors";
import { VISIT_COOKIE } from "../signed-urls/visit-cookie.ts";
import { GUEST_CONTENT_POLICY } from "../guest-content.ts";

/** Name and value, as often as the name came. */
export type Field = readonly [name: string, value: string];

/** More than any server sends. */
const FIELDS_MAX = 200;

export function fieldsOf(raw: readonly string[]): Field[] {
  const fields: Field[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) fields.push([raw[at] ?? "", raw[at + 1] ?? ""]);
  return fields;
}

/** Of one connection each; what `Connection` names is too. */
export const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Prefixes of fields that a reverse proxy or cache in front of control obeys and does not pass on: they name files and internal
 *  locations of that server, have it interpret the body (ESI), or take its upstream out of service. No app needs them: dropped at both
 *  kinds of origins. */
const forProxiesPrefixes = [
  "edge-control",
  "surrogate-control",
  "x-accel-",
  "x-envoy-",
  "x-esi",
  "x-lighttpd-",
  "x-litespeed-",
  "x-reproxy-",
  "x-sendfile",
];

/** What acts on the whole origin, or changes how it is reached, and not on the one document. */
const ofTheOrigin: ReadonlySet<string> = new Set([
  "accept-ch",
  "activate-storage-access",
  "alt-svc",
  "clear-site-data",
  "content-security-policy-report-only",
  "critical-ch",
  "expect-ct",
  "nel",
  "observe-browsing-topics",
  "origin-agent-cluster",
  "origin-trial",
  "public-key-pins",
  "public-key-pins-report-only",
  // A browser would follow it from our address, also after an answer that is no page.
  "refresh",
  "report-to",
  "reporting-endpoints",
  "service-worker-allowed",
  "set-cookie",
  "set-cookie2",
  "set-login",
  "strict-transport-security",
  "shared-storage-write",
  "speculation-rules",
  "supports-loading-mode",
  "use-as-dictionary",
  // A browser would ask its user for a password, in our name.
  "www-authenticate",
]);
const ofTheOriginPrefixes = [
  "access-control-",
  "ad-auction-",
  "attribution-reporting-",
  "sec-session-",
  "secure-session-",
  "sec-shared-storage-",
];

/** What we say ourselves of each answer, and of each port's. */
const saidByUs: ReadonlySet<string> = new Set([
  "content-security-policy",
  "cross-origin-resource-policy",
  "date",
  "ratelimit",
  "ratelimit-policy",
  "referrer-policy",
  "skerry-version",
  "x-content-type-options",
  "x-request-id",
]);

/** What an app may say at an origin that is its own alone. What acts beyond that origin, or on connections to us, stays ours. */
const ofItsOwnOrigin: ReadonlySet<string> = new Set([
  "access-control-allow-credentials",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-allow-origin",
  "access-control-expose-headers",
  "access-control-max-age",
  "content-security-policy",
  "content-security-policy-report-only",
  "cross-origin-resource-policy",
  "referrer-policy",
  "refresh",
  "service-worker-allowed",
  "set-cookie",
  "speculation-rules",
  // An app that asks for a password can do so in its own name there.
  "www-authenticate",
  "x-content-type-options",
]);

/** What we say of our own answers, and an app at its own origin says itself or not at all. */
export const ofOurAnswers = [
  "content-security-policy",
  "cross-origin-resource-policy",
  "referrer-policy",
  "x-content-type-options",
] as const;

export type Fields = Record<string, string | string[]>;

/** What the client gets of an answer. Throws `guest_failed` where the answer cannot be understood in one way only. */
export function fieldsForClient(fields: readonly Field[]): Fields {
  const kept = fields.filter(
    ([name, value]) => name.toLowerCase() !== "x-frame-options" || isFrameLimit(value),
  );
  const passed = passedFields(kept, isOfTheOrigin);
  return {
    ...passed,
    // What a browser has kept of a page is no answer to a request for a script, which is refused.
    vary: [passed["vary"] ?? [], "Sec-Fetch-Dest, Sec-Fetch-Site"].flat(),
    "content-security-policy": GUEST_CONTENT_POLICY,
    // The page's own pictures and scripts come from another origin than it has.
    "cross-origin-resource-policy": "cross-origin",
  };
}

/** The same at an origin that nothing else has. A cookie for a whole domain would reach other VMs, and is dropped. `isSigned`: the address
 *  of the page has a signature in it, which no other site is to get from the browser. */
export function fieldsAtOwnOrigin(fields: readonly Field[], isSigned: boolean): Fields {
  const kept = fields.filter(([name, value]) => name.toLowerCase() !== "set-cookie" || isHostOnly(value));
  const passed = passedFields(kept, (name) => !ofItsOwnOrigin.has(name) && isOfTheOrigin(name));
  return isSigned ? { ...passed, "referrer-policy": "no-referrer" } : passed;
}

/** A page may refuse to be framed. Any other value only weakens what a proxy says in our name. */
function isFrameLimit(value: string): boolean {
  return /^(?:deny|sameorigin)$/i.test(value.trim());
}

function isHostOnly(cookie: string): boolean {
  const [pair = "", ...attributes] = cookie.split(";");
  const isForDomain = attributes.some((one) => one.split("=", 1)[0]?.trim().toLowerCase() === "domain");
  return !isForDomain && pair.split("=", 1)[0]?.trim() !== VISIT_COOKIE;
}

function isOfTheOrigin(name: string): boolean {
  if (ofTheOrigin.has(name) || saidByUs.has(name)) return true;
  return ofTheOriginPrefixes.some((prefix) => name.startsWith(prefix));
}

function isForProxies(name: string): boolean {
  return forProxiesPrefixes.some((prefix) => name.startsWith(prefix));
}

function passedFields(fields: readonly Field[], isDropped: (name: string) => boolean): Fields {
  refuseAmbiguous(fields);
  const named = namedByConnection(fields);
  const passed: Fields = Object.create(null) as Fields;
  for (const [name, value] of fields) {
    const lower = name.toLowerCase();
    if (hopByHop.has(lower) || named.has(lower) || isForProxies(lower) || isDropped(lower)) continue;
    const before = passed[lower];
    passed[lower] = before === undefined ? value : [before, value].flat();
  }
  return passed;
}

/** What the client of an accepted WebSocket gets. */
export function fieldsOfWebSocket(fields: readonly Field[]): Record<string, string> {
  refuseAmbiguous(fields);
  const passed = fields.filter(([name]) => /^sec-websocket-(accept|protocol|extensions)$/i.test(name));
  return Object.fromEntries(passed.map(([name, value]) => [name.toLowerCase(), value]));
}

/** Where two readers could see two ends of an answer, one of them might take its rest for another answer. */
function refuseAmbiguous(fields: readonly Field[]): void {
  if (fields.length > FIELDS_MAX) throw nonsense(`has more than ${FIELDS_MAX} header fields`);
  const all = (wanted: string) => fields.filter(([name]) => name.toLowerCase() === wanted);
  const encodings = all("transfer-encoding");
  const lengths = all("content-length");
  if (encodings.length > 0 && lengths.length > 0) throw nonsense("has a length and a transfer encoding");
  if (encodings.length > 1 || encodings.some(([, value]) => value.trim().toLowerCase() !== "chunked"))
    throw nonsense("has a transfer encoding other than chunked");
  if (lengths.length > 1 || lengths.some(([, value]) => !/^\d{1,15}$/.test(value.trim())))
    throw nonsense("has a length that is none");
  if (fields.some(([, value]) => /[\r\n\0]/.test(value))) throw nonsense("has a broken header field");
}

export function namedByConnection(fields: readonly Field[]): ReadonlySet<string> {
  const values = fields.filter(([name]) => name.toLowerCase() === "connection");
  return new Set(values.flatMap(([, value]) => value.split(",").map((name) => name.trim().toLowerCase())));
}

export function nonsense(what: string, cause?: unknown): SkerryError {
  return new SkerryError(
    "guest_failed",
    `What listens on the port answers no valid HTTP: the answer ${what}.`,
    {
      remediation: "Have an HTTP server listen on the port, and see what its log says.",
      cause,
    },
  );
}
