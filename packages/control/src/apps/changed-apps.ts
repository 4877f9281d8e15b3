// Apps and deploys that have changed, as events tell them.

import { sql } from "kysely";
import type { App } from "@skerry/contract/apps/app";
import type { Deploy } from "@skerry/contract/apps/deploy";
import type { Versioned } from "../api/versioned.ts";
import type { Context } from "../context.ts";
import type { AppRow, DeployRow } from "./app-store.ts";
import { shownApps } from "./apps.ts";
import { shownDeploy } from "./deploys/shown-deploys.ts";

/** The version is read before what it is of: what changes in between has a later one, and is told again. */
export async function findApps(
  context: Context,
  orgId: string,
  ids: readonly string[],
): Promise<Versioned<App>[]> {
  const { rows } = await sql<AppRow & { version: number }>`
    select apps.*, app_changes.version from apps join app_changes using (id)
    where apps.org_id = ${orgId} and id = any(${ids})`.execute(context.db);
  const apps = new Map((await shownApps(context, rows)).map((app) => [app.id, app]));
  return rows.flatMap(({ id, version }) => {
    const app = apps.get(id);
    return app === undefined ? [] : [{ id, version, shownTo: () => app }];
  });
}

export async function findDeploys(
  { db }: Context,
  orgId: string,
  ids: readonly string[],
): Promise<Versioned<Deploy>[]> {
  const { rows } = await sql<DeployRow>`
    select * from deploys where org_id = ${orgId} and id = any(${ids})`.execute(db);
  return rows.map((row) => ({ id: row.id, version: row.version, shownTo: () => shownDeploy(row) }));
}
