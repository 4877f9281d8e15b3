// Documents by which hosts serve apps: each host has the instances that run there, and all routes to them.

import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { EdgeDocument, EdgeState } from "@skerry/contract/host-api/edge";
import { stateOf, type Context } from "../context.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import { APPS_DOMAIN } from "./app-rows.ts";
import type { AppWork, InstanceWork } from "./app-facts.ts";

/** Of one host, by what it serves. */
interface Told {
  readonly digest: string;
  readonly state: EdgeState;
}

/** By the host's id. */
export const edgesOf = stateOf(() => new Map<string, Told>());

type Content = Pick<EdgeDocument, "backends" | "routes">;

/**
 * Tells each host whose document has changed. A host that cannot be told is told in the next turn. Resolves
 * with those that could not be.
 */
export async function tellEdges(
  context: Context,
  apps: readonly AppWork[],
  stop: AbortSignal,
): Promise<number> {
  const told = edgesOf(context);
  const hosts = new Set([
    ...told.keys(),
    ...apps.flatMap(({ instances }) => instances.flatMap((one) => one.host_id ?? [])),
  ]);
  const results = await Promise.allSettled(
    [...hosts].map(async (hostId) => {
      const content = contentFor(hostId, apps);
      const digest = createHash("sha256").update(JSON.stringify(content)).digest("hex");
      const known = told.get(hostId);
      if (known === undefined && content.backends.length === 0) return;
      const address = await hostAddress(context.db, hostId);
      if (address === undefined) return void told.delete(hostId);
      const { edge } = context.hosts.client(address);
      const isSame = known?.digest === digest && known.state.fault === null;
      if (isSame && !drains(content)) return;
      const state = isSame
        ? await edge.state(stop)
        : await edge.serve({ version: await nextVersion(context), ...content }, stop);
      told.set(hostId, { digest, state });
      if (state.fault !== null)
        context.log.warn({ host_id: hostId, fault: state.fault }, "a host does not serve apps");
    }),
  );
  const failures = results.filter((one) => one.status === "rejected");
  for (const { reason } of failures) context.log.warn({ err: reason }, "a host could not be told of apps");
  return failures.length;
}

/** Whether its host gives it no requests, and it has none. */
export function isIdle(context: Context, { machine_id: vm, host_id, execution_id }: InstanceWork): boolean {
  if (host_id === null) return true;
  const told = edgesOf(context).get(host_id);
  const seats =
    told?.state.instances.filter((one) => one.vm === vm && one.execution_id === execution_id) ?? [];
  return told === undefined ? false : seats.every((seat) => seat.status !== "serving" && seat.sessions === 0);
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
