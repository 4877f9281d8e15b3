// Documents by which hosts serve apps: each host has the instances that run there, the hosts to which it can
// pass requests on, and all routes to them.

import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { EdgeDocument, EdgeState } from "@skerry/contract/host-api/edge";
import { stateOf, type Context } from "../context.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import { hostOf } from "./app-rows.ts";
import type { AppWork, InstanceWork } from "./app-facts.ts";
import { routeHost, type RouteRow } from "./edge-routes.ts";
import type { Lanes } from "./lanes.ts";
import type { StoredManifest } from "./app-tables.ts";

/** Answer of one host, and the digest of the document that it was to. */
interface Told extends Pick<EdgeState, "fault" | "instances"> {
  readonly digest: string;
  readonly error?: unknown;
  /** Time of the next attempt, by this process's clock. */
  readonly againAtMs?: number;
}

const unknownEdge = { digest: "", instances: [] };

/** Answers of hosts, by their ids. */
export const edgesOf = stateOf(() => new Map<string, Told>());

type Content = Omit<EdgeDocument, "version">;
type Doors = ReadonlyMap<string, string>;
type Backend = Content["backends"][number];
type Service = StoredManifest["services"][number];

interface Looked {
  readonly apps: readonly AppWork[];
  /** Where hosts take requests that others pass on. */
  readonly doors: Doors;
  readonly lanes: Lanes;
  readonly stop: AbortSignal;
}

/**
 * Tells each host whose document has changed. A host that cannot be told, or whose proxy cannot serve it, is
 * told in the next turn; until it has answered, it serves nothing new as far as is known.
 */
export function tellEdges(context: Context, { apps, doors, lanes, stop }: Looked): void {
  const told = edgesOf(context);
  const own = apps.flatMap(({ instances }) => instances.flatMap((one) => one.host_id ?? []));
  for (const hostId of new Set([...told.keys(), ...own, ...doors.keys()])) {
    const lane = `edge of ${hostId}`;
    const known = told.get(hostId);
    const content = contentFor(context, hostId, { apps, doors });
    const digest = createHash("sha256").update(JSON.stringify(content)).digest("hex");
    if (needsNothing(known, { digest, content })) continue;
    if (!isSame(known, digest))
      told.set(hostId, { ...unknownEdge, ...known, fault: known?.fault ?? UNANSWERED });
    if (lanes.open.has(lane) || performance.now() < (known?.againAtMs ?? 0)) continue;
    lanes.begin(lane, () => noteTold(context, hostId, { known, content, digest, stop }));
  }
}

async function noteTold(context: Context, hostId: string, telling: Telling): Promise<void> {
  const told = edgesOf(context);
  const now = await tellEdge(context, hostId, telling).catch((error: unknown): Told => ({
    ...{ ...unknownEdge, fault: "its host could not be told", error },
    againAtMs: performance.now() + AGAIN_MS,
  }));
  if (now === undefined) return void told.delete(hostId);
  told.set(hostId, now);
  if (now.fault !== null && now.fault !== telling.known?.fault)
    context.log.warn({ host_id: hostId, fault: now.fault, err: now.error }, "a host does not serve apps");
}

/** Each step waits for hosts that it tells; one that is away is not told in each. */
const AGAIN_MS = 3_000;
const UNANSWERED = "its host has not answered yet";

/** The host serves this document and no instance drains, or it was never told of an app and has none. */
function needsNothing(
  known: Told | undefined,
  { digest, content }: Pick<Telling, "digest" | "content">,
): boolean {
  return known === undefined ? content.backends.length === 0 : isSame(known, digest) && !drains(content);
}

function isSame(known: Told | undefined, digest: string): boolean {
  return known?.digest === digest && known.fault === null;
}

interface Telling {
  readonly known: Told | undefined;
  readonly content: Content;
  readonly digest: string;
  readonly stop: AbortSignal;
}

/** Undefined: the host is gone. */
async function tellEdge(
  context: Context,
  hostId: string,
  { known, content, digest, stop }: Telling,
): Promise<Told | undefined> {
  const address = await hostAddress(context.db, hostId);
  if (address === undefined) return undefined;
  const { edge } = context.hosts.client(address);
  const { fault, instances } = isSame(known, digest)
    ? await edge.state(stop)
    : await edge.serve({ version: await nextVersion(context), ...content }, stop);
  return { digest, fault, instances };
}

/** Why hosts do not serve the app as its rows say; undefined: they do. */
export function edgeFaultOf(context: Context, { instances }: AppWork): string | undefined {
  const told = edgesOf(context);
  const faults = instances
    .filter(({ state }) => state === "serving")
    .map(({ host_id }) => told.get(host_id ?? "")?.fault ?? undefined);
  return faults.find((fault) => fault !== undefined);
}

/** Whether its host gives it no requests, and it has none. */
export function isIdle(context: Context, { machine_id: vm, host_id, execution_id }: InstanceWork): boolean {
  if (host_id === null) return true;
  const told = edgesOf(context).get(host_id);
  // A host that was to be told of nothing has no request for it.
  if (told === undefined) return true;
  if (told.fault !== null) return false;
  const seats = told.instances.filter((one) => one.vm === vm && one.execution_id === execution_id);
  return seats.every((seat) => seat.status !== "serving" && seat.sessions === 0);
}

function drains({ backends }: Content): boolean {
  return backends.some(({ instances }) => instances.some(({ state }) => state === "draining"));
}

function contentFor(
  context: Context,
  hostId: string,
  { apps, doors }: Pick<Looked, "apps" | "doors">,
): Content {
  const peers = [...doors].filter(([id]) => doors.has(hostId) && id !== hostId);
  const reached = new Set([hostId, ...peers.map(([id]) => id)]);
  const parts = apps.map((app) => contentOfApp({ hostId, reached }, app, hostOf(context, app)));
  return {
    backends: parts.flatMap(({ backends }) => backends),
    routes: parts.flatMap(({ routes }) => routes),
    ...(peers.length > 0 && { peers: Object.fromEntries(peers) }),
  };
}

/** Ways in which a backend treats its requests. */
type Manner = Pick<RouteRow, "sticky" | "concurrency">;
const PLAIN: Manner = { sticky: false, concurrency: null };

/** Instances are in one backend for each manner in which routes lead to their group. */
function contentOfApp(
  { hostId, reached }: { readonly hostId: string; readonly reached: ReadonlySet<string> },
  app: AppWork,
  host: string | null,
): Content {
  const backends = new Map<string, Backend>();
  for (const one of app.instances) {
    const { group_name: group, host_id: at } = one;
    const service = one.services?.find((each) => each.group === group);
    if (service === undefined || at === null || !reached.has(at) || !isSeated(one)) continue;
    // Of others it knows those that take requests: they let theirs drain themselves.
    if (at !== hostId && one.state !== "serving") continue;
    const routed = app.routes.filter((route) => route.group_name === group);
    const ids = new Map([PLAIN, ...routed].map((manner) => [backendId(app, service, manner), manner]));
    for (const [id, manner] of ids) {
      const { protocol } = service;
      const backend = backends.get(id) ?? { id, protocol, ...shownManner(manner), instances: [] };
      backends.set(id, withInstance(backend, one, { port: service.port, isHere: at === hostId }));
    }
  }
  const all = [...backends.values()];
  return { backends: all, routes: host === null ? [] : routesTo(app, host, all) };
}

function withInstance(
  backend: Backend,
  { machine_id: vm, execution_id, state, host_id }: InstanceWork,
  { port, isHere }: { readonly port: number; readonly isHere: boolean },
): Backend {
  const { instances, elsewhere = {} } = backend;
  if (host_id === null || execution_id === null) return backend;
  if (!isHere) return { ...backend, elsewhere: { ...elsewhere, [host_id]: (elsewhere[host_id] ?? 0) + 1 } };
  const seat = { vm, execution_id, port, state: state === "serving" ? "serving" : "draining" } as const;
  return { ...backend, instances: [...instances, seat] };
}

function routesTo(app: AppWork, host: string, backends: readonly Backend[]): Content["routes"] {
  const [first] = app.wanted?.manifest.services ?? [];
  const own = {
    ...PLAIN,
    ...{ subdomain: "", path_prefix: "/", group_name: first?.group, strip_prefix: false, rate_limit: null },
  };
  const isOwnTaken = app.routes.some(({ subdomain, path_prefix }) => subdomain === "" && path_prefix === "/");
  const asked = [...(isOwnTaken ? [] : [own]), ...app.routes];
  return asked.flatMap((route) => {
    const backend = backendFor(app, route, backends) ?? (route === own ? anyOf(backends) : undefined);
    if (backend === undefined) return [];
    const { path_prefix, strip_prefix, rate_limit } = route;
    return [
      {
        ...{ host: routeHost(host, route), path_prefix, backend: backend.id },
        ...(strip_prefix && { strip_prefix }),
        ...(rate_limit !== null && { rate_limit }),
      },
    ];
  });
}

/**
 * Instances of two releases may be spoken to differently while a deploy goes on. A route leads to its group as
 * the wanted release has it, or to that of a release before while none of it serves.
 */
function backendFor(
  app: AppWork,
  { group_name: group, ...manner }: Manner & { readonly group_name: string | undefined },
  backends: readonly Backend[],
): Backend | undefined {
  const isOfManner = ({ id }: Backend) => {
    const [, of, , ...words] = id.split(":");
    return (group === undefined || of === group) && words.join() === mannerWords(manner).join();
  };
  const able = backends.filter(isOfManner);
  const serving = able.filter(isServed);
  const wanted = app.wanted?.manifest.services.find((one) => one.group === group);
  const best = serving.find(({ id }) => wanted !== undefined && id === backendId(app, wanted, manner));
  return best ?? serving[0];
}

/** While nothing serves of the group that has the app's address: the release before may have another one. */
function anyOf(backends: readonly Backend[]): Backend | undefined {
  const plain = backends.filter((one) => one.sticky === undefined && one.concurrency === undefined);
  return plain.find(isServed) ?? plain[0];
}

function isServed({ instances, elsewhere }: Backend): boolean {
  return elsewhere !== undefined || instances.some(({ state }) => state === "serving");
}

/** One that never served has no requests to finish. */
function isSeated({ state, status, serving_since }: InstanceWork): boolean {
  return status === "running" && (state === "serving" || (state === "draining" && serving_since !== null));
}

function backendId(
  { id }: AppWork,
  { group, protocol }: Pick<Service, "group" | "protocol">,
  manner: Manner,
): string {
  return [id, group, protocol, ...mannerWords(manner)].join(":");
}

function mannerWords({ sticky, concurrency }: Manner): string[] {
  return [...(sticky ? ["sticky"] : []), ...(concurrency === null ? [] : [String(concurrency)])];
}

function shownManner({ sticky, concurrency }: Manner): Pick<Backend, "sticky" | "concurrency"> {
  return { ...(sticky && { sticky }), ...(concurrency !== null && { concurrency }) };
}

/** Later than every one before it, also after a restore of the database. */
async function nextVersion({ db }: Context): Promise<number> {
  const { rows } = await sql<{ ms: string }>`
    select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms`.execute(db);
  return Number(rows[0]?.ms ?? 0);
}
