// What a name of a template without a tag means to E2B's clients: its tag `default`, where it has that, and natively `latest`. And what they call
// templates that are built in here.

import { isId } from "@skerry/contract/ids";
import { reservedTemplateNames } from "@skerry/contract/templates/template-name";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { findOwnTemplate } from "../templates/own-templates.ts";

/** A name alone is of the tag that it means where it is asked for alone. */
export const DEFAULT_TAG = "default";

/**
 * Where the organization has none of this name. One of theirs carries a version, of a program that is ours here. Of the other the clients start a program that
 * `base` lacks: they say so, and remove the sandbox.
 */
const builtIn = new Map([
  ["code-interpreter-v1", "code-interpreter"],
  ["mcp-gateway", "base"],
]);

/** As it is asked for natively. */
export async function nativeNameOf({ db }: Context, { orgId }: Caller, asked: string): Promise<string> {
  const isBare = !asked.includes(":") && !isId("template", asked) && !isId("snapshot", asked);
  if (!isBare || reservedTemplateNames.includes(asked)) return asked;
  const tagged = `${asked}:${DEFAULT_TAG}`;
  if ((await findOwnTemplate(db, orgId, tagged)) !== undefined) return tagged;
  const named = builtIn.get(asked);
  return named === undefined || (await findOwnTemplate(db, orgId, asked)) !== undefined ? asked : named;
}
