import type { CacheSwept } from "@skerry/contract/host-api";
import { sweepCaches } from "../caches.ts";
import type { Host } from "../host.ts";
import type { HostServer } from "./conventions.ts";

/** What was touched more lately may be a build, or on its way from another host. */
const UNTOUCHED_FOR_MS = 3_600_000;

export function registerCache(server: HostServer, host: Host): void {
  server.post("/cache/sweep", async (): Promise<CacheSwept> => ({
    removed: await sweepCaches(host, Date.now() - UNTOUCHED_FOR_MS),
  }));
}
