// Whom and where the instructions of a template have left: there the next template begins that stands on it, and the commands of its sandboxes that
// say nothing of it.

import { isId } from "@skerry/contract/ids";
import type { Caller } from "../caller.ts";
import { stateOf, type Context } from "../context.ts";
import { getSandbox } from "../sandboxes/sandboxes.ts";
import { findOwnTemplate } from "../templates/own-templates.ts";
import { BoundedMap } from "../values/bounded-map.ts";
import type { SandboxCall } from "./sandbox-call.ts";
import { E2B_USER, translateTemplate, type KeptTemplate, type TemplateBase } from "./template-steps.ts";
import { findAskedBuild } from "./template-store.ts";
import type { OwnTemplateRow } from "../templates/own-template-rows.ts";

type Start = Pick<TemplateBase, "user" | "workdir">;

/** Undefined where it is built in, or not there. */
export async function baseOf(
  context: Context,
  caller: Caller,
  fromTemplate: string,
): Promise<TemplateBase | undefined> {
  const own = await findOwnTemplate(context.db, caller.orgId, fromTemplate);
  if (own === undefined) return undefined;
  const { env, workdir } = own.config;
  return { env, ...((await startOf(context, own)) ?? { user: E2B_USER, workdir }) };
}

/** Undefined where these clients have not built it. */
async function startOf({ db }: Context, own: OwnTemplateRow): Promise<Start | undefined> {
  const body = (await findAskedBuild(db, own.org_id, own.build_id))?.body ?? null;
  // It was translated when it came.
  return body === null ? undefined : translateTemplate(body as KeptTemplate).start;
}

/** Of sandboxes, which keep the template that they were made of. */
const startsOf = stateOf(() => new BoundedMap<string, { readonly start: Start | undefined }>(1_000));

/** Keeps what the row of a sandbox says of its template, so that the first command in it reads no row. */
export function noteTemplateOf(
  context: Context,
  orgId: string,
  { id, template }: { readonly id: string; readonly template: string },
): void {
  if (!isId("template", template)) startsOf(context).set(keyOf(orgId, id), { start: undefined });
}

function keyOf(orgId: string, id: string): string {
  return `${orgId} ${id}`;
}

/** That of the template of a sandbox. */
export async function startOfSandbox(
  context: Context,
  { caller, id }: SandboxCall,
): Promise<Start | undefined> {
  const key = keyOf(caller.orgId, id);
  const known = startsOf(context);
  const found = known.get(key);
  if (found !== undefined) return found.start;
  const { template } = await getSandbox(context, caller, id);
  const own = await findOwnTemplate(context.db, caller.orgId, template);
  const start = own === undefined ? undefined : await startOf(context, own);
  known.set(key, { start });
  return start;
}
