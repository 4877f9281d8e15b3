// Rows of apps as calls find them, and why they do not.

import { SkerryError } from "@skerry/contract/errors";
import { isId } from "@skerry/contract/ids";
import type { Tenant } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { findApp, findAppId, type AppRow } from "./app-store.ts";

/** The service that makes rows come true. */
export const DEPLOYER = "app-deployer";

/** Name under which hosts serve the app; null: another organization's app has it. */
export function hostOf({ apps }: Context, { label }: Pick<AppRow, "label">): string | null {
  return label === null ? null : `${label}.${apps.domain}`;
}

/** For an id or a name. */
export async function appIdOf(
  { db }: Pick<Context, "db">,
  { orgId }: Tenant,
  asked: string,
): Promise<string> {
  if (isId("app", asked)) return asked;
  const id = /^[a-z0-9-]{1,40}$/.test(asked) ? await findAppId(db, orgId, asked) : undefined;
  if (id === undefined) throw appNotFound(asked);
  return id;
}

export async function getAppRow(db: Queries, { orgId }: Tenant, id: string): Promise<AppRow> {
  const row = isId("app", id) ? await findApp(db, orgId, id) : undefined;
  if (row === undefined) throw appNotFound(id);
  return row;
}

export function appNotFound(asked: string): SkerryError {
  return new SkerryError("app_not_found", `There is no app "${asked.slice(0, 100)}".`, {
    remediation: "`GET /v1/apps` lists those of the organization.",
    context: { id: asked.slice(0, 100) },
  });
}

export function refuseDeleting({ status, name }: Pick<AppRow, "status" | "name">): void {
  if (status !== "deleting") return;
  throw new SkerryError("app_deleting", `The app "${name}" is being deleted.`, {
    remediation: "Create another one when its name is free.",
  });
}
