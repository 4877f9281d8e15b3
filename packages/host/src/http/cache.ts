import type { CacheSwept } from "@skerry/contract/host-api";
import type { Host } from "../host.ts";
import type { HostServer } from "./conventions.ts";

/** What was touched more lately may be a build, or on its way from another host. */
const UNTOUCHED_FOR_MS = 3_600_000;

export function registerCache(server: HostServer, { config, engine, library, moves }: Host): void {
  server.post("/cache/sweep", async (): Promise<CacheSwept> => {
    const below = await engine.filesBelow();
    const removed = await moves.sweep(below, UNTOUCHED_FOR_MS);
    // What others made there is theirs to judge.
    if (config.sharedAssets) return { removed };
    return { removed: removed + (await library.sweep(below, UNTOUCHED_FOR_MS)) };
  });
}
