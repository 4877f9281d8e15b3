// Templates that deploys of an app build: versions of one name, which go when no release has them any more.

import { sql } from "kysely";
import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import { resourceCaller } from "../machines/owned-machines.ts";
import { deleteTemplate } from "../templates/delete-template.ts";
import type { AppRow } from "./app-store.ts";

export function templateNameOf({ name }: Pick<AppRow, "name">): string {
  return `app-${name}`;
}

/**
 * Deletes versions that deploys of the app have built and that no release and no deploy has any more; of an app
 * that is being deleted, all. One that the organization has given a tag is its own from then on.
 */
export async function forgetTemplates(
  context: Context,
  app: Pick<AppRow, "id" | "org_id" | "status">,
): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select id from templates t where org_id = ${app.org_id} and owner_id = ${app.id} and status = 'ready'
      and not exists (select 1 from template_tags where template_id = t.id)
      and (${app.status === "deleting"} or not exists (select 1 from releases where app_id = ${app.id} and template = t.id)
        and not exists (select 1 from deploys join builds on builds.id = deploys.build_id
          where app_id = ${app.id} and deploys.finished_at is null and template_id = t.id))`.execute(
    context.db,
  );
  for (const { id } of rows)
    await deleteTemplate(context, resourceCaller(app.org_id), id).catch((error: unknown) => {
      // Something else was made of it, or another replica deletes it.
      if (!(error instanceof SkerryError)) throw error;
    });
}
