// Routes of apps: what requests reach which group, beside the address that each app has by itself.

import { sql, type Selectable } from "kysely";
import { PREFIX_SEGMENTS_MAX, ROUTE_MANNERS_MAX, ROUTES_MAX } from "@skerry/contract/apps/app-bounds";
import type { Route, RouteCreateRequest } from "@skerry/contract/apps/route";
import { SkerryError } from "@skerry/contract/errors";
import { isId, newId } from "@skerry/contract/ids";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import type { Queries, Tables } from "../../db/database.ts";
import type { Creation } from "../../idempotency/create-once.ts";
import { boundReached } from "../../limits/quota-exceeded.ts";
import type { Page } from "../../values/page.ts";
import { lockApp, type AppRow } from "../app-store.ts";
import { appNotFound, DEPLOYER, getAppRow, hostOf, refuseDeleting } from "../app-rows.ts";

export type RouteRow = Selectable<Tables["routes"]>;

/** Ways in which a route reaches the instances of its group. */
export type Manner = Pick<RouteRow, "group_name" | "port" | "sticky" | "concurrency">;

/** Words of a backend's name that tell its manner. */
export function mannerWords({ port, sticky, concurrency }: Omit<Manner, "group_name">): string[] {
  return [
    ...(sticky ? ["sticky"] : []),
    ...(concurrency === null ? [] : [String(concurrency)]),
    ...(port === null ? [] : [`port-${port}`]),
  ];
}

/** Routes of these apps. */
export async function routesOf(db: Queries, appIds: readonly string[]): Promise<RouteRow[]> {
  const { rows } = await sql<RouteRow>`
    select * from routes where app_id = any(${appIds}) order by subdomain, path_prefix`.execute(db);
  return rows;
}

/** Apps of these routes, by the ids of routes. */
export async function appsOfRoutes(
  db: Queries,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<{ id: string; app_id: string }>`
    select id, app_id from routes where id = any(${ids})`.execute(db);
  return new Map(rows.map(({ id, app_id }) => [id, app_id]));
}

export function routeCreation(
  context: Context,
  { orgId }: Caller,
  { id, request }: { readonly id: string; readonly request: RouteCreateRequest },
): Creation<Route> {
  return {
    create: async (attempt) => {
      const route = await context.db.transaction().execute(async (transaction) => {
        const app = await lockApp(transaction, orgId, id);
        if (app === undefined) throw appNotFound(id);
        refuseDeleting(app);
        const [row, others] = [rowOf(context, app, request), await routesOf(transaction, [id])];
        const used = others.length;
        if (used >= ROUTES_MAX)
          throw boundReached({ quota: "routes", nouns: "routes", used, limit: ROUTES_MAX });
        refuseManners([row, ...others]);
        const shown = shownRoute(context, app, await insertRoute(transaction, row));
        await attempt.done(transaction, shown);
        return shown;
      });
      context.wake(DEPLOYER);
      return route;
    },
  };
}

function rowOf(context: Context, app: AppRow, request: RouteCreateRequest): Omit<RouteRow, "created_at"> {
  const { group, port = null, strip_prefix = false, sticky = false } = request;
  const { rate_limit = null, concurrency = null } = request;
  return {
    ...{ id: newId("route"), app_id: app.id, subdomain: subdomainOf(context, app, request.host) },
    ...{ path_prefix: prefixOf(request.path_prefix), group_name: group, port },
    ...{ strip_prefix, sticky, rate_limit, concurrency },
  };
}

/** Manners that routes have share the proxies of all hosts with other organizations. */
function refuseManners(routes: readonly Manner[]): void {
  const manners = new Set(routes.map((one) => JSON.stringify([one.group_name, ...mannerWords(one)])));
  if (manners.size <= ROUTE_MANNERS_MAX) return;
  throw new SkerryError(
    "bad_request",
    `The app's routes would reach its groups in more than ${ROUTE_MANNERS_MAX} ways.`,
    {
      remediation: 'Use a combination of "group", "port", "sticky" and "concurrency" that another route has.',
      context: { limit: ROUTE_MANNERS_MAX },
    },
  );
}

/** Labels as the rules for names have them. */
const SUBDOMAIN = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+$/;

/** No app gets requests for a name that is not below its own. */
function subdomainOf(context: Context, app: AppRow, asked: string | undefined): string {
  const host = hostOf(context, app);
  if (host === null)
    throw new SkerryError("bad_request", "The app has no address: another organization's app has its name.", {
      remediation: "Create an app with another name.",
    });
  const name = (asked ?? host).toLowerCase();
  if (name === host) return "";
  const before = name.endsWith(`.${host}`) ? name.slice(0, -host.length) : "";
  if (SUBDOMAIN.test(before)) return before.slice(0, -1);
  throw new SkerryError("bad_request", `"host" is not ${host}, nor a name below it.`, {
    remediation: `Use for example api.${host}.`,
    context: { field: "host" },
  });
}

function prefixOf(asked = "/"): string {
  const segments = asked.split("/").filter((segment) => segment !== "");
  if (segments.length > PREFIX_SEGMENTS_MAX || segments.some((one) => one === "." || one === ".."))
    throw new SkerryError(
      "bad_request",
      `"path_prefix" has dots, or more than ${PREFIX_SEGMENTS_MAX} segments.`,
      {
        remediation: "Write a shorter one, such as /api/v1.",
        context: { field: "path_prefix" },
      },
    );
  return `/${segments.map((segment) => `${segment}/`).join("")}`;
}

async function insertRoute(transaction: Queries, row: Omit<RouteRow, "created_at">): Promise<RouteRow> {
  const { id, app_id, subdomain, path_prefix, group_name, port } = row;
  const { strip_prefix, sticky, rate_limit, concurrency } = row;
  const { rows } = await sql<RouteRow>`
    insert into routes (id, app_id, subdomain, path_prefix, group_name, port, strip_prefix, sticky, rate_limit, concurrency)
    values (${id}, ${app_id}, ${subdomain}, ${path_prefix}, ${group_name}, ${port}, ${strip_prefix}, ${sticky},
      ${rate_limit}, ${concurrency}) on conflict do nothing returning *`.execute(transaction);
  const [written] = rows;
  if (written !== undefined) return written;
  throw new SkerryError("route_taken", "The app has a route of this name and path.", {
    remediation: "Delete that one first: `GET /v1/apps/{id}/routes` lists them.",
    context: { field: "path_prefix", value: path_prefix },
  });
}

export async function listRoutesOf(context: Context, caller: Caller, id: string): Promise<Page<Route>> {
  const app = await getAppRow(context.db, caller, id);
  const rows = await routesOf(context.db, [id]);
  return { items: rows.map((row) => shownRoute(context, app, row)), next_cursor: null };
}

export async function deleteRoute(
  context: Context,
  caller: Caller,
  { id, route }: { readonly id: string; readonly route: string },
): Promise<void> {
  await getAppRow(context.db, caller, id);
  const { rows } = await sql`
    delete from routes where app_id = ${id} and id = ${isId("route", route) ? route : ""} returning id`.execute(
    context.db,
  );
  if (rows.length === 0)
    throw new SkerryError("route_not_found", "The app has no such route.", {
      remediation: "`GET /v1/apps/{id}/routes` lists them.",
      context: { id: route.slice(0, 100) },
    });
  context.wake(DEPLOYER);
}

/** Name under which hosts serve the route. */
export function routeHost(host: string, { subdomain }: Pick<RouteRow, "subdomain">): string {
  return subdomain === "" ? host : `${subdomain}.${host}`;
}

function shownRoute(context: Context, app: AppRow, row: RouteRow): Route {
  const { id, app_id, path_prefix, group_name: group, port } = row;
  const { strip_prefix, sticky, rate_limit, concurrency } = row;
  const host = hostOf(context, app);
  return {
    ...{ id, app_id, path_prefix, group, port, strip_prefix, sticky, rate_limit, concurrency },
    host: host === null ? null : routeHost(host, row),
    created_at: row.created_at.toISOString(),
  };
}
