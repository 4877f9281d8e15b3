// Checks the VMs that the proxy sends requests to, and rotates unhealthy ones out. The proxy is not there yet, and so there are none:
// this is the place and the interface that it will find.

import type { BackgroundService } from "../background/background-service.ts";

/** A VM behind a route. */
interface Backend {
  /** Rejects where it does not answer as a healthy one does. */
  check(stop: AbortSignal): Promise<void>;
  /** No request is sent there until a check succeeds again. */
  rotateOut(): Promise<void>;
}

export function proxyHealthChecker(
  everyMs: number,
  backends: () => Promise<readonly Backend[]> = async () => [],
): BackgroundService {
  return {
    name: "proxy-health-checker",
    everyMs,
    async activate(stop) {
      const found = await backends();
      const checks = await Promise.allSettled(found.map((backend) => backend.check(stop)));
      const unhealthy = found.filter((_, index) => checks[index]?.status === "rejected");
      const turns = await Promise.allSettled(unhealthy.map((backend) => backend.rotateOut()));
      const failed = turns.filter((turn) => turn.status === "rejected").length;
      return { examined: found.length, changed: unhealthy.length - failed, failed, more: false };
    },
  };
}
