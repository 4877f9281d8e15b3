// Apps as callers ask for them.

import type { App, AppCreateRequest, AppUpdateRequest } from "@skerry/contract/apps/app";
import { SkerryError } from "@skerry/contract/errors";
import { isId, newId } from "@skerry/contract/ids";
import { checkAppQuota } from "../capacity/app-quota.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import type { Creation } from "../idempotency/create-once.ts";
import { lockOrganization } from "../limits/organization-limits.ts";
import { readPage, type Page, type PageParams } from "../values/page.ts";
import {
  changeApp,
  findApp,
  insertApp,
  lastDeploys,
  listApps,
  lockApp,
  type AppRow,
  type DeployRow,
} from "./app-store.ts";
import { instancesOf, type InstanceRow } from "./instances/instance-store.ts";
import { appNotFound, DEPLOYER, getAppRow, hostOf, refuseDeleting } from "./app-rows.ts";
import { shownDeploy } from "./deploys/shown-deploys.ts";
import { shownStaged, stage } from "./deploys/staged-env.ts";
import { forwardsOf, removeForward, setForward, type ForwardRow } from "./forward/log-forward-store.ts";
import { checkedForward, shownForward } from "./forward/log-forwards.ts";
import { ONE_OFF } from "./reconcile-facts.ts";
import { tcpPortsOf, type TcpPortRow } from "./edge/tcp-ports.ts";

export function appCreation(
  context: Context,
  { orgId }: Caller,
  { name, scale = {} }: AppCreateRequest,
): Creation<App> {
  return {
    create: (attempt) =>
      context.db.transaction().execute(async (transaction) => {
        if (!(await lockOrganization(transaction, orgId)))
          throw new SkerryError("organization_not_found", "There is no such organization.");
        await checkAppQuota(context, transaction, orgId);
        const row = await insertApp(transaction, { id: newId("app"), org_id: orgId, name, scale });
        if (row === undefined)
          throw new SkerryError("name_taken", `The organization has an app "${name}".`, {
            remediation: "Choose another name, or delete that app.",
            context: { field: "name", value: name },
          });
        const app = shownApp(context, row, NOTHING);
        await attempt.done(transaction, app);
        return app;
      }),
  };
}

export async function listAppsOf(
  context: Context,
  { orgId }: Caller,
  params: PageParams,
): Promise<Page<App>> {
  const page = await readPage("app", params, (before, limit) =>
    listApps(context.db, orgId, { before, limit }),
  );
  return { ...page, items: await shownApps(context, page.items) };
}

export async function getApp(context: Context, caller: Caller, id: string): Promise<App> {
  return shownOne(context, await getAppRow(context.db, caller, id));
}

export async function updateApp(
  context: Context,
  caller: Caller,
  id: string,
  { scale = {}, maintenance, env_changes: changes, log_forward: wish }: AppUpdateRequest,
): Promise<App> {
  await getAppRow(context.db, caller, id);
  const target = wish ? await checkedForward(context, caller, wish) : wish;
  const row = await changing(context, caller.orgId, {
    id,
    make: async (transaction, app) => {
      if (changes !== undefined) await stage(transaction, app, changes);
      await changeApp(transaction, id, {
        scale: { ...app.scale, ...scale },
        ...(maintenance !== undefined && { maintenance }),
      });
      if (target === null) await removeForward(transaction, id);
      else if (target !== undefined) await setForward(transaction, id, target);
    },
  });
  if (target) context.wake("log-forwarder");
  return shownOne(context, row);
}

/** Its instances drain and end, and then its row goes. */
export async function deleteApp(context: Context, { orgId }: Caller, id: string): Promise<App> {
  const make = (transaction: Queries) => changeApp(transaction, id, { status: "deleting" });
  return shownOne(context, await changing(context, orgId, { id, isDeletion: true, make }));
}

interface Change {
  readonly id: string;
  /** Also of one that is being deleted. */
  readonly isDeletion?: true;
  readonly make: (transaction: Queries, app: AppRow) => Promise<void>;
}

/** Throws `app_not_found` or `app_deleting`. */
async function changing(context: Context, orgId: string, { id, isDeletion, make }: Change): Promise<AppRow> {
  const row = await context.db.transaction().execute(async (transaction) => {
    const app = isId("app", id) ? await lockApp(transaction, orgId, id) : undefined;
    if (app === undefined) throw appNotFound(id);
    if (isDeletion !== true) refuseDeleting(app);
    await make(transaction, app);
    return (await findApp(transaction, orgId, id)) ?? app;
  });
  context.wake(DEPLOYER);
  return row;
}

async function shownOne(context: Context, row: AppRow): Promise<App> {
  const [app] = await shownApps(context, [row]);
  return app ?? shownApp(context, row, NOTHING);
}

export async function shownApps(context: Context, rows: readonly AppRow[]): Promise<App[]> {
  const { db } = context;
  const ids = rows.map(({ id }) => id);
  const [deploys, instances, ports, forwards] = await Promise.all([
    lastDeploys(db, ids),
    instancesOf(db, ids),
    tcpPortsOf(db, ids),
    forwardsOf(db, ids),
  ]);
  // MicroVMs for commands by hand take no part in it.
  const parts = instances.filter(({ group_name: group }) => group !== ONE_OFF);
  const byApp = Map.groupBy(parts, ({ app_id }) => app_id);
  return rows.map((row) =>
    shownApp(context, row, {
      deploy: deploys.find(({ app_id }) => app_id === row.id),
      forward: forwards.find(({ app_id }) => app_id === row.id),
      instances: byApp.get(row.id) ?? [],
      ports: ports.filter(({ app_id }) => app_id === row.id),
    }),
  );
}

const HTTP_PORT = 80;

interface Running {
  readonly deploy: DeployRow | undefined;
  readonly forward: ForwardRow | undefined;
  readonly instances: readonly InstanceRow[];
  readonly ports: readonly TcpPortRow[];
}

const NOTHING: Running = { deploy: undefined, forward: undefined, instances: [], ports: [] };

function shownApp(context: Context, row: AppRow, { deploy, forward, instances, ports }: Running): App {
  const { id, name, status, scale, live, maintenance } = row;
  const host = hostOf(context, row);
  const { port } = context.apps;
  return {
    ...{ id, name, status, scale, maintenance },
    staged_variables: shownStaged(row),
    host,
    url: host === null ? null : `http://${host}${port === HTTP_PORT ? "" : `:${port}`}`,
    ports: ports.map(({ group_name: group, port: at }) => ({ group, port: at })),
    log_forward: shownForward(forward),
    release: live,
    deploy: deploy === undefined ? null : shownDeploy(deploy),
    instances: instances.map((one) => ({
      machine_id: one.machine_id,
      name: `${one.group_name}.${one.number}`,
      release: one.release,
      state: one.state,
      fault: one.fault,
      created_at: one.created_at.toISOString(),
    })),
    created_at: row.created_at.toISOString(),
  };
}
