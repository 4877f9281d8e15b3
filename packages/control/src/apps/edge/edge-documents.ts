// Documents by which hosts serve apps: each host has the instances that run there, the hosts to which it can
// pass requests on, and all routes to them.

import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { EdgeDocument, EdgeState } from "@skerry/contract/host-api/edge";
import { stateOf, type Context } from "../../context.ts";
import { hostAddress } from "../../hosts/host-rows.ts";
import { hostOf } from "../app-rows.ts";
import type { AppWork, InstanceWork } from "../app-facts.ts";
import { contentOfApp, type AppContent } from "./edge-content.ts";
import { fitting } from "./edge-shares.ts";
import type { Lanes } from "../lanes.ts";

/** Answer of one host, and the digest of the document that it was to. */
interface Told extends Pick<EdgeState, "version" | "fault" | "instances"> {
  readonly digest: string;
  /** Apps that the document has no room for, by id. */
  readonly left: ReadonlySet<string>;
  /** Time of the answer, by this process's clock. */
  readonly atMs: number;
  readonly error?: unknown;
  /** Time of the next attempt, by this process's clock. */
  readonly againAtMs?: number;
}

const unknownEdge = {
  ...{ version: 0, digest: "", left: new Set<string>(), fault: null, instances: [] },
  atMs: -Infinity,
};

/** Answers of hosts, by their ids. */
export const edgesOf = stateOf(() => new Map<string, Told>());

type Doors = ReadonlyMap<string, string>;

interface Looked {
  readonly apps: readonly AppWork[];
  /** Addresses at which hosts take requests that others pass on. */
  readonly doors: Doors;
  readonly lanes: Lanes;
  readonly stop: AbortSignal;
}

/**
 * Tells each host whose document has changed. A host that cannot be told, or whose proxy cannot serve it, is
 * told in the next turn; until it has answered, it serves nothing new as far as is known.
 */
export async function tellEdges(context: Context, { apps, doors, lanes, stop }: Looked): Promise<void> {
  const told = edgesOf(context);
  const partOf = partsOf(context, doors);
  const own = apps.flatMap(({ instances }) => instances.flatMap((one) => one.host_id ?? []));
  for (const hostId of new Set([...told.keys(), ...own, ...doors.keys()])) {
    const lane = `edge of ${hostId}`;
    const known = told.get(hostId);
    const content = await contentFor(hostId, { apps, doors, partOf });
    const digest = digestOf(content);
    if (needsNothing(known, { digest, content })) continue;
    if (!isSame(known, digest))
      told.set(hostId, { ...unknownEdge, ...known, fault: known?.fault ?? UNANSWERED });
    if (lanes.open.has(lane) || performance.now() < (known?.againAtMs ?? 0)) continue;
    lanes.begin(lane, () => noteTold(context, hostId, { known, content, digest, stop }));
  }
}

async function noteTold(context: Context, hostId: string, telling: Telling): Promise<void> {
  const told = edgesOf(context);
  const { left } = telling.content;
  const now = await tellEdge(context, hostId, telling).catch((error: unknown): Told => ({
    ...{ ...unknownEdge, left, fault: "its host could not be told", error },
    againAtMs: performance.now() + AGAIN_MS,
  }));
  if (now === undefined) return void told.delete(hostId);
  told.set(hostId, now);
  if (now.fault !== null && now.fault !== telling.known?.fault)
    context.log.warn({ host_id: hostId, fault: now.fault, err: now.error }, "a host does not serve apps");
}

/** Each step waits for hosts that it tells; one that is away is not told in each. */
const AGAIN_MS = 3_000;
const FULL = "its host serves as many apps and routes as it can";
const UNANSWERED = "its host has not answered yet";

/** A host that has lost its document, with its disk or to an older one, gets it again by then. */
const ASKED_EVERY_MS = 10_000;

/** The host serves this document and no instance drains, or it was never told of an app and has none. */
function needsNothing(
  known: Told | undefined,
  { digest, content }: { readonly digest: string; readonly content: Parts },
): boolean {
  return known === undefined
    ? content.parts.every(({ backends }) => backends.length === 0)
    : isSame(known, digest) && !drains(content) && performance.now() - known.atMs < ASKED_EVERY_MS;
}

function isSame(known: Told | undefined, digest: string): boolean {
  return known?.digest === digest && known.fault === null;
}

interface Telling {
  readonly known: Told | undefined;
  readonly content: Parts;
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
  const state = isSame(known, digest) ? await edge.state(stop) : undefined;
  const { version, fault, instances } =
    state !== undefined && state.version === known?.version
      ? state
      : await edge.serve(await documentOf(context, content), stop);
  return { digest, left: content.left, version, fault, instances, atMs: performance.now() };
}

/** Why hosts do not serve the app as its rows say; undefined: they do. */
export function edgeFaultOf(context: Context, { id, instances }: AppWork): string | undefined {
  const told = edgesOf(context);
  const faults = instances
    .filter(({ state }) => state === "serving")
    .map(({ host_id }) => {
      const { fault, left } = told.get(host_id ?? "") ?? unknownEdge;
      return fault ?? (left.has(id) ? FULL : undefined);
    });
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

function drains({ parts }: Parts): boolean {
  return parts.some(({ backends }) =>
    backends.some(({ instances }) => instances.some(({ state }) => state === "draining")),
  );
}

/** Part of a document, with its text, of which the digest of the document is made. */
interface Part extends AppContent {
  readonly app_id: string;
  readonly org_id: string;
  readonly text: string;
}

interface Parts {
  readonly parts: readonly Part[];
  readonly left: Told["left"];
  readonly peers: EdgeDocument["peers"];
}

type PartOf = (app: AppWork, hostId: string) => Part;

/** Hosts that have no instance of an app have the same part of it, which is made once. */
function partsOf(context: Context, doors: Doors): PartOf {
  const shared = new Map<string, Part>();
  return (app, hostId) => {
    const isHere = app.instances.some((one) => one.host_id === hostId);
    const known = isHere || !doors.has(hostId) ? undefined : shared.get(app.id);
    if (known !== undefined) return known;
    const reached = doors.has(hostId) ? doors : new Set([hostId]);
    const name = hostOf(context, app);
    const content = contentOfApp({ hostId: isHere ? hostId : undefined, reached, name }, app);
    const part = { ...content, app_id: app.id, org_id: app.org_id, text: JSON.stringify(content) };
    if (!isHere && doors.has(hostId)) shared.set(app.id, part);
    return part;
  };
}

/** Between which other work of this process has its turn. */
const APPS_AT_ONCE = 10;

async function contentFor(
  hostId: string,
  { apps, doors, partOf }: Pick<Looked, "apps" | "doors"> & { readonly partOf: PartOf },
): Promise<Parts> {
  const peers = [...doors].filter(([id]) => doors.has(hostId) && id !== hostId);
  const parts: Part[] = [];
  for (const app of apps) {
    parts.push(partOf(app, hostId));
    if (parts.length % APPS_AT_ONCE === 0) await setImmediate();
  }
  const fit = fitting(parts);
  return {
    parts: parts.filter((part) => fit.has(part)),
    left: new Set(parts.filter((part) => !fit.has(part)).map(({ app_id }) => app_id)),
    peers: peers.length === 0 ? undefined : Object.fromEntries(peers),
  };
}

function digestOf({ parts, peers }: Parts): string {
  const hash = createHash("sha256").update(JSON.stringify(peers ?? {}));
  for (const { text } of parts) hash.update(text);
  return hash.digest("hex");
}

async function documentOf(context: Context, { parts, peers }: Parts): Promise<EdgeDocument> {
  const { tcpPorts: range } = context.apps;
  return {
    version: await nextVersion(context),
    backends: parts.flatMap(({ backends }) => backends),
    routes: parts.flatMap(({ routes }) => routes),
    ...(range !== undefined && { tcp: { ...range, ports: parts.flatMap(({ ports }) => ports) } }),
    ...(peers !== undefined && { peers }),
  };
}

/** Later than every one before it, also after a restore of the database. */
async function nextVersion({ db }: Context): Promise<number> {
  const { rows } = await sql<{ ms: string }>`
    select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms`.execute(db);
  return Number(rows[0]?.ms ?? 0);
}
