// How much of a build its cache has: what its steps are known by, and the last of them whose result is there.

import type { BuildRequest } from "@skerry/contract/builds/build-request";
import { stepKeys, templateKey, type ContextDigests, type KeyedStep } from "@skerry/build-plan/plan/step-key";
import type { BuiltInTemplate } from "@skerry/contract/templates/template";
import packageJson from "../../package.json" with { type: "json" };
import type { Context } from "../context.ts";
import type { TemplateConfig } from "../db/tables/template-tables.ts";
import { findTemplate } from "../templates/templates.ts";
import type { BuildParams } from "./build-params.ts";
import type { OwnTemplateRow } from "../templates/own-template-rows.ts";

/** Whether a build looks into the cache, and into versions that were made of the same. */
export function usesCache(
  { limits }: Pick<Context, "limits">,
  request: Pick<BuildRequest, "no_cache">,
): boolean {
  return limits.buildCacheGib > 0 && request.no_cache !== true;
}

/** What the steps of a plan begin on, by content. A built-in template's id is that of its description. */
export function parentKey(
  { plan: { on }, snapshot }: Pick<BuildParams, "plan" | "snapshot">,
  {
    template,
    own,
  }: { readonly template: Pick<BuiltInTemplate, "id">; readonly own: OwnTemplateRow | undefined },
): string {
  // What it holds never changes, and its id is given once.
  if (snapshot !== undefined) return snapshot.id;
  if (on === null) return "empty";
  if (own === undefined) return template.id;
  return [own.disk_gib, ...own.image.layers.map(({ digest }) => digest)].join(" ");
}

/** Keys of all steps, once for each thing that they may begin on: a built-in template may differ from host to host. */
export function possibleKeys(
  { hostCapacity: { hosts } }: Pick<Context, "hostCapacity">,
  params: BuildParams,
): (string | null)[][] {
  const { plan, own, snapshot, request, placeAt } = params;
  const only = snapshot ?? own;
  const begins = only === undefined ? builtIn(hosts, placeAt) : [only.id];
  return begins.map((id) =>
    keysOf(plan.steps, parentKey(params, { template: { id }, own }), request.context_digests),
  );
}

/** Ids of it, as hosts have it. */
function builtIn(hosts: Context["hostCapacity"]["hosts"], name: string): readonly string[] {
  return [...new Set(hosts.flatMap(({ templates }) => findTemplate(templates, name)?.id ?? []))];
}

/** The builder changes with the version of this software. */
export function keysOf(
  steps: readonly KeyedStep[],
  parent: string,
  context: ContextDigests = {},
): (string | null)[] {
  return stepKeys(steps, { parent, builder: packageJson.version, context });
}

/** Of the template that comes of it. */
export function wholeKey(
  keys: readonly (string | null)[],
  { config, sizes }: { readonly config: TemplateConfig; readonly sizes: BuildRequest["sizes"] },
): string | null {
  return templateKey(keys.at(-1), { config, sizes });
}

/** Of what is cached, what this build begins on, after what of it the earlier steps have left: in the order of the steps, each once. */
export function longestPrefix<Row extends { readonly key: string }>(
  keys: readonly (string | null)[],
  cached: readonly Row[],
): Row[] {
  return keys.flatMap((key) => cached.find((row) => row.key === key) ?? []);
}
