// Which header fields pass between a client and what listens in a guest. The guest is hostile to the API's own origin, on which its answers
// appear: whatever a browser would do for that origin because of an answer, it must not do.

import { SkerryError } from "@skerry/contract/errors";
import { BEARER_PROTOCOL, ORGANIZATION_PROTOCOL } from "../../api/authenticate-hook.ts";

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
const hopByHop: ReadonlySet<string> = new Set([
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

/** What a client shows to us. A session of a browser never counts for a port, so its cookie is no use there either. */
const credentials: ReadonlySet<string> = new Set(["authorization", "cookie", "x-api-key", "x-org-id"]);

/** We say these ourselves. */
const ours: ReadonlySet<string> = new Set([
  "content-length",
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
  /** Of the path, before what the guest sees of it. */
  readonly prefix: string;
}

/** What the guest gets of a request. `Host` is what a server of developers expects; where the request was sent to stands beside it. */
export function fieldsForGuest(fields: readonly Field[], port: number, client: ClientFacts): Field[] {
  const named = namedByConnection(fields);
  const passed = fields.flatMap(withoutToken).filter(([name]) => {
    const lower = name.toLowerCase();
    return !hopByHop.has(lower) && !credentials.has(lower) && !ours.has(lower) && !named.has(lower);
  });
  return [
    ["Host", `localhost:${port}`],
    ...passed,
    ["X-Forwarded-For", client.address],
    ["X-Forwarded-Host", client.host],
    ["X-Forwarded-Proto", client.protocol],
    ["X-Forwarded-Prefix", client.prefix],
  ];
}

/** A page may offer its token as a subprotocol of a WebSocket. */
function withoutToken([name, value]: Field): Field[] {
  if (name.toLowerCase() !== "sec-websocket-protocol") return [[name, value]];
  const isOurs = (one: string) =>
    [BEARER_PROTOCOL, ORGANIZATION_PROTOCOL].some((prefix) => one.startsWith(prefix));
  const others = value.split(",").filter((one) => !isOurs(one.trim()));
  return others.length === 0 ? [] : [[name, others.join(",").trim()]];
}

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
  "report-to",
  "reporting-endpoints",
  "service-worker-allowed",
  "set-cookie",
  "set-cookie2",
  "set-login",
  "strict-transport-security",
  "supports-loading-mode",
  "use-as-dictionary",
  // A browser would ask its user for a password, in our name.
  "www-authenticate",
]);
const ofTheOriginPrefixes = ["access-control-", "sec-session-", "secure-session-", "sec-shared-storage-"];

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

/** A page gets an origin of its own that nothing else has: no cookies, storage or service workers of ours, and no reading of our answers. */
const POLICY = "sandbox allow-scripts allow-forms";

/** What the client gets of an answer. Throws `guest_failed` where the answer cannot be understood in one way only. */
export function fieldsForClient(fields: readonly Field[]): Record<string, string | string[]> {
  refuseAmbiguous(fields);
  const named = namedByConnection(fields);
  const passed: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  for (const [name, value] of fields) {
    const lower = name.toLowerCase();
    if (hopByHop.has(lower) || named.has(lower) || ofTheOrigin.has(lower) || saidByUs.has(lower)) continue;
    if (ofTheOriginPrefixes.some((prefix) => lower.startsWith(prefix))) continue;
    const before = passed[lower];
    passed[lower] = before === undefined ? value : [before, value].flat();
  }
  return {
    ...passed,
    "content-security-policy": POLICY,
    // The page's own pictures and scripts come from another origin than it has.
    "cross-origin-resource-policy": "cross-origin",
  };
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

function namedByConnection(fields: readonly Field[]): ReadonlySet<string> {
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
