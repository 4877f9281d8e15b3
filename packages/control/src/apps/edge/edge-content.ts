// Part of an app in the document of one host: its instances there, the hosts that have others, and its routes.
// Pure.

import type { EdgeDocument } from "@skerry/contract/host-api/edge";
import type { AppWork, InstanceWork } from "../app-facts.ts";
import type { StoredManifest } from "../app-tables.ts";
import { mannerWords, routeHost, type Manner as RouteManner } from "./edge-routes.ts";

export interface AppContent extends Pick<EdgeDocument, "backends" | "routes"> {
  /** Ports of hosts that lead to a backend. */
  readonly ports: NonNullable<EdgeDocument["tcp"]>["ports"];
}
type Backend = AppContent["backends"][number];
type Service = StoredManifest["services"][number];

/** Ways in which a backend treats its requests. */
type Manner = Omit<RouteManner, "group_name">;
const PLAIN: Manner = { port: null, sticky: false, concurrency: null };

interface Place {
  /** The host that the content is for; undefined: one that has no instance of the app. */
  readonly hostId: string | undefined;
  /** Hosts whose instances it reaches, itself among them. */
  readonly reached: { has(hostId: string): boolean };
  /** Name under which the app is served; null: it has none. */
  readonly name: string | null;
}

/** Instances are in one backend for each manner in which routes lead to their group. */
export function contentOfApp({ hostId, reached, name }: Place, app: AppWork): AppContent {
  const all = backendsOf({ hostId, reached }, app);
  const ofHttp = all.filter(({ protocol }) => protocol !== "tcp");
  return {
    backends: all,
    routes: name === null ? [] : routesTo(app, name, ofHttp),
    ports: portsTo(app, all),
  };
}

function backendsOf({ hostId, reached }: Omit<Place, "name">, app: AppWork): Backend[] {
  const backends = new Map<string, Backend>();
  for (const one of app.instances) {
    const { group_name: group, host_id: at } = one;
    const service = one.services?.find((each) => each.group === group);
    if (service === undefined || at === null || !reached.has(at) || !isSeated(one)) continue;
    // Others let theirs drain themselves: it knows those of them that take requests.
    if (at !== hostId && one.state !== "serving") continue;
    for (const [id, manner] of mannersOf(app, service)) {
      const { protocol } = service;
      const backend = backends.get(id) ?? { id, protocol, ...shownManner(manner), instances: [] };
      backends.set(
        id,
        withInstance(backend, one, { port: manner.port ?? service.port, isHere: at === hostId }),
      );
    }
  }
  return [...backends.values()];
}

function portsTo(app: AppWork, backends: readonly Backend[]): AppContent["ports"] {
  return app.tcpPorts.flatMap(({ port, group_name: group }) => {
    const backend = backendId(app, { group, protocol: "tcp" }, PLAIN);
    return backends.some(({ id }) => id === backend) ? [{ port, backend }] : [];
  });
}

/** Manners by the ids of their backends. */
function mannersOf(app: AppWork, service: Service): ReadonlyMap<string, Manner> {
  const { group, protocol } = service;
  const isOwn = (route: RouteManner): boolean => route.group_name === group && mannerWords(route).length > 0;
  const routed = protocol === "tcp" ? [] : app.routes.filter(isOwn);
  return new Map([PLAIN, ...routed].map((manner) => [backendId(app, service, manner), manner]));
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

function routesTo(app: AppWork, host: string, backends: readonly Backend[]): AppContent["routes"] {
  const first = app.wanted?.manifest.services.find(({ protocol }) => protocol !== "tcp");
  const own = {
    ...PLAIN,
    ...{
      id: app.id,
      subdomain: "",
      path_prefix: "/",
      group_name: first?.group,
      strip_prefix: false,
      rate_limit: null,
    },
  };
  const isOwnTaken = app.routes.some(({ subdomain, path_prefix }) => subdomain === "" && path_prefix === "/");
  const asked = [...(isOwnTaken ? [] : [own]), ...app.routes];
  // Most routes of an app lead to the same backend.
  const known = new Map<string, Backend | undefined>();
  const backendOf = (route: (typeof asked)[number]): Backend | undefined => {
    const key = [route.group_name, ...mannerWords(route)].join();
    if (!known.has(key)) known.set(key, backendFor(app, route, backends));
    return known.get(key);
  };
  return asked.flatMap((route) => {
    const backend = backendOf(route) ?? (route === own ? anyOf(backends) : undefined);
    if (backend === undefined) return [];
    const { id, path_prefix, strip_prefix, rate_limit } = route;
    return [
      {
        ...{ host: routeHost(host, route), path_prefix, backend: backend.id },
        ...{ app: app.id, id },
        ...(strip_prefix && { strip_prefix }),
        ...(app.maintenance && { maintenance: true }),
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

/** Words of the id of a backend that treats its requests plainly: app, group and protocol. */
const PLAIN_WORDS = 3;

/** While nothing serves of the group that has the app's address: the release before may have another one. */
function anyOf(backends: readonly Backend[]): Backend | undefined {
  const plain = backends.filter(({ id }) => id.split(":").length === PLAIN_WORDS);
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

function shownManner({ sticky, concurrency }: Manner): Pick<Backend, "sticky" | "concurrency"> {
  return { ...(sticky && { sticky }), ...(concurrency !== null && { concurrency }) };
}
