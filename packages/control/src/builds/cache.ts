// The build cache of an organization, as it sees it.

import type { CacheEntryList, ClearedCache } from "@skerry/contract/builds/build-cache";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { readPage, type PageParams } from "../values/page.ts";
import { clearCached, listCached } from "./cache-store.ts";

export async function listCache(
  { db }: Context,
  { orgId }: Caller,
  page: PageParams,
): Promise<CacheEntryList> {
  const { items, next_cursor } = await readPage("template", page, (before, limit) =>
    listCached(db, orgId, { before, limit }),
  );
  return {
    items: items.map(({ id, kind, name, bytes, host_id, in_use, created_at, last_used_at }) => ({
      ...{ id, kind, name, bytes, host_id, in_use },
      created_at: created_at.toISOString(),
      last_used_at: last_used_at.toISOString(),
    })),
    next_cursor,
  };
}

/** No build finds it any more; hosts remove it soon. */
export async function clearCache(context: Context, { orgId }: Caller): Promise<ClearedCache> {
  const cleared = await clearCached(context.db, orgId);
  if (cleared.entries > 0) context.wake("build-cache-cleanup");
  return cleared;
}
