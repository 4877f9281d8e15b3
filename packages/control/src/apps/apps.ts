// Apps as callers ask for them.

import { APPS_MAX } from "@skerry/contract/apps/app-bounds";
import type { App, AppCreateRequest, AppUpdateRequest } from "@skerry/contract/apps/app";
import { SkerryError } from "@skerry/contract/errors";
import { isId, newId } from "@skerry/contract/ids";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import type { Creation } from "../idempotency/create-once.ts";
import { lockOrganization } from "../limits/organization-limits.ts";
import { boundReached } from "../limits/quota-exceeded.ts";
import { readPage, type Page, type PageParams } from "../values/page.ts";
import {
  changeApp,
  countApps,
  findApp,
  insertApp,
  instancesOf,
  lastDeploys,
  listApps,
  lockApp,
  type AppRow,
  type DeployRow,
  type InstanceRow,
} from "./app-store.ts";
import { APPS_DOMAIN, appNotFound, DEPLOYER, getAppRow, refuseDeleting } from "./app-rows.ts";
import { shownDeploy } from "./deploys.ts";

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
        const used = await countApps(transaction, orgId);
        if (used >= APPS_MAX) throw boundReached({ quota: "apps", nouns: "apps", used, limit: APPS_MAX });
        const row = await insertApp(transaction, { id: newId("app"), org_id: orgId, name, scale });
        if (row === undefined)
          throw new SkerryError("name_taken", `The organization has an app "${name}".`, {
            remediation: "Choose another name, or delete that app.",
            context: { field: "name", value: name },
          });
        const app = shownApp(row, undefined, []);
        await attempt.done(transaction, app);
        return app;
      }),
  };
}

export async function listAppsOf({ db }: Context, { orgId }: Caller, params: PageParams): Promise<Page<App>> {
  const page = await readPage("app", params, (before, limit) => listApps(db, orgId, { before, limit }));
  return { ...page, items: await shownApps(db, page.items) };
}

export async function getApp({ db }: Context, caller: Caller, id: string): Promise<App> {
  return shownOne(db, await getAppRow(db, caller, id));
}

export async function updateApp(
  context: Context,
  { orgId }: Caller,
  id: string,
  { scale = {} }: AppUpdateRequest,
): Promise<App> {
  const row = await changing(context, orgId, {
    id,
    make: (transaction, app) => changeApp(transaction, id, { scale: { ...app.scale, ...scale } }),
  });
  return shownOne(context.db, row);
}

/** Its instances drain and end, and then its row goes. */
export async function deleteApp(context: Context, { orgId }: Caller, id: string): Promise<App> {
  const make = (transaction: Queries) => changeApp(transaction, id, { status: "deleting" });
  return shownOne(context.db, await changing(context, orgId, { id, isDeletion: true, make }));
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

async function shownOne(db: Queries, row: AppRow): Promise<App> {
  const [app] = await shownApps(db, [row]);
  return app ?? shownApp(row, undefined, []);
}

async function shownApps(db: Queries, rows: readonly AppRow[]): Promise<App[]> {
  const ids = rows.map(({ id }) => id);
  const [deploys, instances] = await Promise.all([lastDeploys(db, ids), instancesOf(db, ids)]);
  const byApp = Map.groupBy(instances, ({ app_id }) => app_id);
  return rows.map((row) =>
    shownApp(
      row,
      deploys.find(({ app_id }) => app_id === row.id),
      byApp.get(row.id) ?? [],
    ),
  );
}

function shownApp(row: AppRow, deploy: DeployRow | undefined, instances: readonly InstanceRow[]): App {
  const { id, name, status, label, scale, live } = row;
  return {
    ...{ id, name, status, scale },
    host: label === null ? null : `${label}.${APPS_DOMAIN}`,
    release: live,
    deploy: deploy === undefined ? null : shownDeploy(deploy),
    instances: instances.map((one) => ({
      machine_id: one.machine_id,
      name: `${one.group_name}.${one.number}`,
      release: one.release,
      state: one.state,
      created_at: one.created_at.toISOString(),
    })),
    created_at: row.created_at.toISOString(),
  };
}
