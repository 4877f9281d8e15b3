// What steps of builds have left, as `/v1` shows it.

import { Type, type Static } from "typebox";
import { exampleIds } from "../example-ids.ts";
import { Timestamp } from "../fields.ts";
import { named } from "../named.ts";
import { pageOf, PageQuery } from "../page.ts";

export const CacheEntry = named(
  "CacheEntry",
  {
    id: Type.String(),
    kind: Type.String({ description: "Of the step." }),
    name: Type.String({ description: "What the step did." }),
    bytes: Type.Integer({ description: "Of the layer that it has left." }),
    host_id: Type.String(),
    in_use: Type.Boolean({ description: "A build that is under way begins on it." }),
    created_at: Timestamp,
    last_used_at: Timestamp,
  },
  {
    id: exampleIds.template,
    kind: "run",
    name: "npm ci --no-audit --no-fund --omit=dev",
    bytes: 41_943_040,
    host_id: exampleIds.host,
    in_use: false,
    created_at: "2026-11-20T16:41:10.123Z",
    last_used_at: "2026-11-21T09:12:44.560Z",
  },
);
export type CacheEntry = Static<typeof CacheEntry>;

export const CacheEntryList = pageOf(CacheEntry, "CacheEntryList");
export type CacheEntryList = Static<typeof CacheEntryList>;

export const CacheQuery = PageQuery;

export const ClearedCache = named(
  "ClearedCache",
  {
    entries: Type.Integer({ minimum: 0, description: "How many were removed." }),
    bytes: Type.Integer({ minimum: 0, description: "What their layers take on the disks of hosts." }),
  },
  { entries: 12, bytes: 503_316_480 },
);
export type ClearedCache = Static<typeof ClearedCache>;
