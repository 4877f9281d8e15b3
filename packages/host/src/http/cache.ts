import type { CacheSwept } from "@skerry/contract/host-api/host-info";
import type { Logger } from "pino";
import { sweepUnusedFiles } from "../app/unused-files.ts";
import type { Host } from "../app/host.ts";
import type { HostServer } from "./conventions.ts";

/** Files changed more recently may belong to a build, or arrive from another host. */
const UNTOUCHED_FOR_MS = 3_600_000;

export function registerCache(server: HostServer, host: Host, log: Logger): void {
  server.post("/cache/sweep", async (): Promise<CacheSwept> => ({
    removed: await sweepUnusedFiles(host, Date.now() - UNTOUCHED_FOR_MS, log),
  }));
}
