// DELETE /v1/templates/{template}: its names find nothing from then on, and the hosts that have it lose it, at once or when they answer again.

import { SkerryError } from "@skerry/contract/errors";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { reportOf, type Report } from "../background/background-service.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import {
  beginDeletingTemplate,
  finishDeletingTemplates,
  forgetTemplateOnHost,
  templatesToDelete,
  usersOfTemplate,
} from "./own-template-rows.ts";
import { findOwnTemplate, templateNotFound } from "./own-templates.ts";

const USERS_SHOWN = 5;
const BATCH = 32;

/** Throws `template_not_found`, and `template_in_use` where something of it lives. */
export function deleteTemplate(context: Context, caller: Caller, asked: string): Promise<void> {
  return deleteTemplates(context, caller, [asked]);
}

/** All of them or none. Throws as `deleteTemplate` does. */
export async function deleteTemplates(
  context: Context,
  caller: Caller,
  asked: readonly string[],
): Promise<void> {
  const ids = await context.db.transaction().execute(async (transaction) => {
    const deleted: string[] = [];
    for (const one of asked) deleted.push(await beginDeleting(transaction, caller, one));
    return deleted;
  });
  // Of copies that are on their way.
  context.wake("template-spreader");
  // Of what is in the object store.
  context.wake("layer-storer");
  for (const only of ids)
    await removeDeletedTemplates(context, { only }).catch((error: unknown) => {
      context.log.warn({ err: error }, "a host did not confirm the end of a template");
    });
}

async function beginDeleting(transaction: Queries, { orgId }: Caller, asked: string): Promise<string> {
  const row = await findOwnTemplate(transaction, orgId, asked);
  if (row === undefined || !(await beginDeletingTemplate(transaction, row.id))) throw templateNotFound(asked);
  // After the row was changed: who would use it meanwhile waits for it.
  const users = await usersOfTemplate(transaction, row.id, USERS_SHOWN);
  if (users.length > 0) throw inUse(users);
  return row.id;
}

export interface Removal {
  /** Id of the one template that is meant; without it, all that are deleted. */
  readonly only?: string;
  readonly stop?: AbortSignal;
}

/** Has hosts remove what is deleted. The service `builder` asks those again that do not answer. */
export async function removeDeletedTemplates(
  context: Context,
  { only, stop }: Removal = {},
): Promise<Report> {
  const found = await templatesToDelete(context.db, { limit: BATCH, only });
  const results = await Promise.allSettled(
    found.map(async ({ id, host_id }) => {
      const address = await hostAddress(context.db, host_id);
      // With a host that has been removed it is gone.
      if (address !== undefined) await context.hosts.client(address).templates.delete(id, stop);
      await forgetTemplateOnHost(context.db, id, host_id);
    }),
  );
  await finishDeletingTemplates(context.db);
  return reportOf(results, { examined: found.length, more: false });
}

function inUse(users: readonly string[]): SkerryError {
  return new SkerryError("template_in_use", `The template is in use: ${users.join(", ")}.`, {
    remediation: "Destroy what was made of it first, or give its names to another version.",
    context: { used_by: users.join(",") },
  });
}
