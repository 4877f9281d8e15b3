// What E2B's clients call the templates of sandboxes. With them a template is all versions of one name, and its id is the name here; a sandbox is of one
// version.

import { isId } from "@skerry/contract/ids";
import { parseTemplateName } from "@skerry/contract/templates/template-name";
import type { Caller } from "../caller.ts";
import { stateOf, type Context } from "../context.ts";
import { BoundedMap } from "../values/bounded-map.ts";
import { checkText } from "../values/check-text.ts";
import { nativeNameOf } from "./bare-names.ts";
import { namesOfVersions, versionsOfName } from "../templates/own-template-rows.ts";

/** Names of versions, which keep them. */
const namesOf = stateOf(() => new BoundedMap<string, string>(1_000));

/** The ids of what sandboxes of the caller's organization were made from. */
export async function templateIds(
  context: Context,
  { orgId }: Caller,
  templates: readonly string[],
): Promise<(template: string) => string> {
  const known = namesOf(context);
  const unknown = templates.filter((one) => isId("template", one) && !known.has(one));
  if (unknown.length > 0)
    for (const [id, name] of await namesOfVersions(context.db, orgId, unknown)) known.set(id, name);
  return (template) => known.get(template) ?? template;
}

/** What sandboxes of the template with this id, or of this version, were made from. */
export async function versionsMeant(
  context: Context,
  caller: Caller,
  asked: string,
): Promise<readonly string[]> {
  checkText("template", asked);
  if (isId("template", asked)) return [asked];
  const { name } = parseTemplateName(asked);
  const versions = await versionsOfName(context.db, caller.orgId, name);
  return versions.length > 0 ? versions : [await nativeNameOf(context, caller, asked)];
}
