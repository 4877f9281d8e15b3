import { CacheEntryList, CacheQuery, ClearedCache } from "@skerry/contract/builds/build-cache";
import type { Operations } from "../api/operation.ts";

/** What steps of builds have left. */
export const cacheOperations = {
  listCache: {
    surface: "v1",
    method: "GET",
    path: "/v1/cache",
    tag: "templates",
    summary: "List the build cache",
    description:
      "Results of steps, from which the organization's next builds begin, newest first. Those that were not used for a week are removed.",
    query: CacheQuery,
    answers: { 200: CacheEntryList },
    access: { scope: "templates:read", role: "viewer", rate: "read" },
    audit: { action: "cache.list", resource: "cache" },
    errors: [],
  },
  clearCache: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/cache",
    tag: "templates",
    summary: "Clear the build cache",
    description: "All of it but what a build that is under way begins on. Templates stay.",
    answers: { 200: ClearedCache },
    access: { scope: "templates:write", role: "member", rate: "write" },
    audit: { action: "cache.clear", resource: "cache" },
    errors: [],
  },
} as const satisfies Operations;
