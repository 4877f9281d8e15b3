// Ports by names of their own: `3000-sbx-01kb….sandboxes.example.net` is what `/v1/sandboxes/sbx_01kb…/ports/3000/` is, with an origin that
// is the port's alone. What comes by such a name is led to that path before anything else sees it, and meets all hooks of the API there.

import type { FastifyInstance } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import { LOCAL_DOMAIN } from "../port-host-name.ts";
import { countedRequestOf, type CountedRequest } from "../../http/counted-request.ts";

const TABLES = { sbx: "sandboxes", mch: "machines" } as const;
/** Underscores are for ids; in names of hosts some programs do not take them. E2B's clients name a sandbox without its kind. */
const LABEL = /^([1-9]\d{0,4})-(?:(sbx|mch)[-_])?([0-9a-hjkmnp-tv-z]{26})$/;
const PORT_MAX = 65_535;

/** Of what a request came by, which is below the domain and names no port. */
const NO_PORT = "none";

/** Where requests for a port of a sandbox that is not the guest's go, such as `/e2b/sandbox` for 49983; the sandbox is in a header then. */
interface OwnPort {
  readonly port: number;
  readonly path: string;
  readonly idHeader: string;
  readonly portHeader: string;
  /** The name before the domain by which clients call the API that such ports belong to, and its path here. */
  readonly api: { readonly label: string; readonly path: string };
}

/** For the listener. `domain`: below which ports have names, in lower case. `own`: a port of sandboxes that is served here. */
export function leadByHostName(domain: string, own?: OwnPort): (request: CountedRequest) => void {
  return (request) => {
    const names = namesOf(request);
    if (!names.some((name) => name === domain || name.endsWith(`.${domain}`))) return;
    const [name = "", ...others] = new Set(names);
    const label = others.length === 0 ? name.slice(0, -domain.length - 1) : "";
    request.portHost = leadByLabel(request, label, own) ? name : NO_PORT;
  };
}

/**
 * The same below `localhost`, which is the API's own name as well, with any other name below it: only names
 * of ports are led away.
 */
export function leadByLocalName(request: CountedRequest): void {
  const [name = "", ...others] = new Set(namesOf(request));
  const labels = [name, ...others].flatMap((one) =>
    one.endsWith(`.${LOCAL_DOMAIN}`) ? [one.slice(0, -LOCAL_DOMAIN.length - 1)] : [],
  );
  // A page of a port may set cookies for the names below its own, so that nothing is served there.
  const label = labels.find((one) => portOf(one.slice(one.lastIndexOf(".") + 1)) !== undefined);
  if (label === undefined) return;
  request.portHost = others.length === 0 && leadByLabel(request, label, undefined) ? name : NO_PORT;
}

/** Whether something here has this name. */
function leadByLabel(request: CountedRequest, label: string, own: OwnPort | undefined): boolean {
  const { url = "" } = request;
  // `*` is no path.
  if (!url.startsWith("/")) return false;
  if (own !== undefined && label === own.api.label) return leadToApi(request, own);
  const named = portOf(label);
  if (named === undefined) return false;
  const isOwn = own !== undefined && named.kind === "sbx" && named.port === own.port;
  request.url = (isOwn ? own.path : pathOf(named)) + url;
  if (isOwn) request.headers[own.idHeader] = named.id;
  return true;
}

/** A page of a port can set cookies for all names below the domain, so none counts here. */
function leadToApi(request: CountedRequest, { api }: OwnPort): true {
  request.url = api.path + (request.url ?? "");
  delete request.headers.cookie;
  return true;
}

/** The same for a client of E2B that calls all ports of sandboxes at one URL, below `own.path`, and says which one it means in a header. */
export function leadByPortHeader(own: OwnPort): (request: CountedRequest) => void {
  return (request) => {
    const { url = "", headers, portHost } = request;
    // What came by a port's name is for that port.
    if (portHost !== undefined || !url.startsWith(`${own.path}/`)) return;
    const { [own.idHeader]: id, [own.portHeader]: port } = headers;
    if (typeof id !== "string" || typeof port !== "string" || port === String(own.port)) return;
    const named = portOf(`${port}-${id}`);
    if (named?.kind !== "sbx") return;
    request.isLedByHeader = true;
    request.url = pathOf(named) + url.slice(own.path.length);
  };
}

/** Below the domain nothing but ports is served: no page there is to pass for one of the API. */
export function refuseStrayHosts(app: FastifyInstance): void {
  app.addHook("onRequest", async (request) => {
    if (countedRequestOf(request).portHost !== NO_PORT) return;
    throw new SkerryError("not_found", "No port has this name.", {
      remediation:
        "Names of ports are `PORT-ID`, such as `3000-sbx-01kb3x0q9vt5c7r2m8n4p6w1yz`, before the domain. A proxy passes `Host` on as it came.",
    });
  });
}

/** All by which it may have come. A proxy that sends another `Host` than the client's says that one beside it, and so can any client: where
 *  two names differ and one is below the domain, neither the API nor a port is shown, because a browser could have it for the other's. */
function namesOf({ headers }: CountedRequest): string[] {
  const { host = "", "x-forwarded-host": forwarded = [] } = headers;
  return [host, ...[forwarded].flat().flatMap((value) => value.split(","))].map(nameOf);
}

/** A host without its port and the dot of the root, in lower case. */
function nameOf(host: string): string {
  return host
    .trim()
    .toLowerCase()
    .replace(/:\d{0,5}$/, "")
    .replace(/\.$/, "");
}

interface NamedPort {
  readonly kind: keyof typeof TABLES;
  readonly id: string;
  readonly port: number;
}

function portOf(label: string): NamedPort | undefined {
  const [, port, kind = "sbx", value] = LABEL.exec(label) ?? [];
  if (port === undefined || Number(port) > PORT_MAX) return undefined;
  // The expression lets no other kind pass.
  return { kind: kind as keyof typeof TABLES, id: `${kind}_${value}`, port: Number(port) };
}

function pathOf({ kind, id, port }: NamedPort): string {
  return `/v1/${TABLES[kind]}/${id}/ports/${port}`;
}
