// Documents by which hosts serve apps: each host has the instances that run there, and all routes to them.

import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { EdgeDocument, EdgeState } from "@skerry/contract/host-api/edge";
import { stateOf, type Context } from "../context.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import { APPS_DOMAIN } from "./app-rows.ts";
import type { AppWork, InstanceWork } from "./app-facts.ts";

/** Answer of one host, and the digest of the document that it was to. */
interface Told extends Pick<EdgeState, "fault" | "instances"> {
  readonly digest: string;
  readonly error?: unknown;
}

const unknownEdge = { digest: "", instances: [] };

/** Answers of hosts, by their ids. */
export const edgesOf = stateOf(() => new Map<string, Told>());

type Content = Pick<EdgeDocument, "backends" | "routes">;

/**
 * Tells each host whose document has changed. A host that cannot be told, or whose proxy cannot serve it, is
 * told in the next turn.
 */
export async function tellEdges(
  context: Context,
  apps: readonly AppWork[],
  stop: AbortSignal,
): Promise<void> {
  const told = edgesOf(context);
  const own = apps.flatMap(({ instances }) => instances.flatMap((one) => one.host_id ?? []));
  const hosts = [...new Set([...told.keys(), ...own])];
  await Promise.all(
    hosts.map(async (hostId) => {
      const known = told.get(hostId);
      const now = await tellEdge(context, hostId, { known, content: contentFor(hostId, apps), stop }).catch(
        (error: unknown): Told => ({ ...unknownEdge, fault: "its host could not be told", error }),
      );
      if (now === undefined) return void told.delete(hostId);
      told.set(hostId, now);
      if (now.fault !== null && now.fault !== known?.fault)
        context.log.warn({ host_id: hostId, fault: now.fault, err: now.error }, "a host does not serve apps");
    }),
  );
}

interface Telling {
  readonly known: Told | undefined;
  readonly content: Content;
  readonly stop: AbortSignal;
}

/** Undefined: the host serves no apps, and has to be told of none. */
async function tellEdge(
  context: Context,
  hostId: string,
  { known, content, stop }: Telling,
): Promise<Told | undefined> {
  if (known === undefined && content.backends.length === 0) return undefined;
  const address = await hostAddress(context.db, hostId);
  if (address === undefined) return undefined;
  const { edge } = context.hosts.client(address);
  const digest = createHash("sha256").update(JSON.stringify(content)).digest("hex");
  const isSame = known?.digest === digest && known.fault === null;
  if (isSame && !drains(content)) return known;
  const { fault, instances } = isSame
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
  if (told === undefined || told.fault !== null) return false;
  const seats = told.instances.filter((one) => one.vm === vm && one.execution_id === execution_id);
  return seats.every((seat) => seat.status !== "serving" && seat.sessions === 0);
}

function drains({ backends }: Content): boolean {
  return backends.some(({ instances }) => instances.some(({ state }) => state === "draining"));
}

function contentFor(hostId: string, apps: readonly AppWork[]): Content {
  const parts = apps.flatMap((app) => {
    const services = app.wanted?.manifest.services ?? [];
    const backends = services.map(({ group, port, protocol }) => ({
      id: `${app.id}:${group}`,
      protocol,
      instances: app.instances
        .filter((one) => one.group_name === group && one.host_id === hostId && one.status === "running")
        .flatMap((one) => {
          if (one.state !== "serving" && one.state !== "draining") return [];
          if (one.state === "draining" && one.serving_since === null) return [];
          return [
            { vm: one.machine_id, execution_id: one.execution_id ?? "", port, state: one.state } as const,
          ];
        }),
    }));
    const [first] = backends;
    const routes =
      app.label === null || first === undefined
        ? []
        : [{ host: `${app.label}.${APPS_DOMAIN}`, path_prefix: "/", backend: first.id }];
    return backends.some(({ instances }) => instances.length > 0) ? [{ backends, routes }] : [];
  });
  return {
    backends: parts.flatMap(({ backends }) => backends),
    routes: parts.flatMap(({ routes }) => routes),
  };
}

/** Later than every one before it, also after a restore of the database. */
async function nextVersion({ db }: Context): Promise<number> {
  const { rows } = await sql<{ ms: string }>`
    select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms`.execute(db);
  return Number(rows[0]?.ms ?? 0);
}
