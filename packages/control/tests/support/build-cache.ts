// The build cache of a world, emptied and cleaned up by hand.

import { sql } from "kysely";
import type { Build } from "@skerry/contract/builds/build";
import type { CacheEntryList } from "@skerry/contract/builds/build-cache";
import type { Report } from "../../src/background/background-service.ts";
import { buildCacheCleanup } from "../../src/builds/build-cache-cleanup.ts";
import { contextDigests } from "./fake-commands.ts";
import type { World } from "./world.ts";

/** Of the layer that each seal of a fake host makes. */
export const LAYER_BYTES = 1_000_000;

/** So many of these layers. */
export function gib(layers: number): number {
  return (layers * LAYER_BYTES) / 1024 ** 3;
}

export async function forgetBuilds({ db, host }: World): Promise<void> {
  host.templates.failures.clear();
  host.templates.before = async () => undefined;
  host.templates.kept.clear();
  contextDigests.clear();
  for (const table of [
    "build_cache",
    "builds",
    "template_hosts",
    "template_frozen",
    "template_tags",
    "templates",
  ])
    await sql`delete from ${sql.table(table)}`.execute(db);
  host.vms.clear();
  host.executions.all.clear();
}

/** One turn of the service. */
export function cleanUpCache(
  { context }: World,
  limits: Partial<World["context"]["limits"]> = {},
): Promise<Report> {
  const bounded = { ...context, limits: { ...context.limits, ...limits } };
  return buildCacheCleanup(bounded, 1_000).activate(new AbortController().signal);
}

export async function cachedIn(world: World): Promise<CacheEntryList["items"]> {
  return (await world.call<CacheEntryList>("GET", "/v1/cache")).body.items;
}

/** Of each step, whether it was found in the cache. */
export function hits({ steps }: Build): boolean[] {
  return steps.map(({ cache_hit }) => cache_hit);
}

/** Ids of templates that are ready. */
export async function readyVersions({ db }: World): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from templates where status = 'ready'`.execute(db);
  return rows.map(({ id }) => id);
}
