// Facts of apps and of their instances, as the rules of apps take them.

import type { StoredManifest } from "../../src/apps/app-tables.ts";
import type { AppFact, InstanceFact } from "../../src/apps/reconcile-facts.ts";

export const manifest = (strategy: StoredManifest["strategy"]): StoredManifest => ({
  processes: { web: {}, worker: {} },
  services: [{ group: "web", port: 8080, protocol: "http", check: { path: "/", port: 8080 } }],
  ...{ strategy, drain_timeout: "30s", timeout: "5m" },
  ...(strategy === "canary" && { canary: { percent: 30, hold: "2m" } }),
});

export const instance = (some: Partial<InstanceFact> & Pick<InstanceFact, "machine_id">): InstanceFact => ({
  ...{ release: 1, group_name: "web", number: 1, state: "serving", end: undefined },
  ...{
    isLost: false,
    hasRun: true,
    isRunning: true,
    isStopping: false,
    isReady: true,
    failure: undefined,
    isDrained: false,
    isProven: false,
    isLeaving: false,
    servedMs: 0,
  },
  ...some,
});

export const app = (some: Partial<AppFact> = {}): AppFact => ({
  ...{
    isDeleting: false,
    scale: { web: 1, worker: 0 },
    deploy: undefined,
    edgeFault: undefined,
    mayStart: true,
  },
  wanted: { number: 1, manifest: manifest("rolling") },
  ...some,
});
export const deploying = (release: number, status: "queued" | "starting" | "switching" = "starting") => ({
  wanted: { number: release, manifest: manifest("rolling") },
  deploy: { status, release, isOverdue: false },
});
