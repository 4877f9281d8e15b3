// Counts requests of the API: a browser that loads the dashboard asks for two dozen files, which say nothing of how the API does. The labels come from closed lists, so that clients cannot add any: the methods below, the patterns of our routes, and
// statuses that we answer with.

import { STATUS_CODES } from "node:http";
import type { FastifyInstance } from "fastify";
import type { Metrics } from "../metrics/metrics.ts";
import { countedRequestOf, type CountedRequest } from "./counted-request.ts";

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const OTHER_METHOD = "other";
const UNKNOWN_PATH = "unknown";
const OTHER_STATUS = "other";
const DASHBOARD = "/ui";

/** Has each request know its route. Call before the routes are registered. */
export function noteRoutes(app: FastifyInstance): void {
  const patterns = new Map<string, string>();
  app.addHook("onRoute", ({ url }) => {
    patterns.set(url, patternOf(url));
  });
  app.addHook("onRequest", (request, _reply, done) => {
    countedRequestOf(request).pattern = patterns.get(request.routeOptions.url ?? "");
    done();
  });
}

export function countRequestBegin(metrics: Metrics): void {
  metrics.httpInFlight.add(1);
}

export function countRequestEnd(metrics: Metrics, request: CountedRequest, status: number): void {
  const method = METHODS.has(request.method ?? "") ? (request.method ?? "") : OTHER_METHOD;
  const path = request.pattern ?? UNKNOWN_PATH;
  metrics.httpInFlight.add(-1);
  metrics.countRefusal(request.errorCode);
  if (path === DASHBOARD || path.startsWith(`${DASHBOARD}/`)) return;
  // What a guest answers may have any.
  const shown = STATUS_CODES[status] === undefined ? OTHER_STATUS : String(status);
  metrics.httpRequests.add(1, method, path, shown);
  metrics.httpDuration.observe(request.ageMs / 1_000, method, path, shown);
}

/** `/v1/sandboxes/:id/files/*` as people write it: `/v1/sandboxes/{id}/files/{path}`. */
function patternOf(url: string): string {
  return url.replaceAll(/:([a-z_]+)/g, "{$1}").replace(/\*$/, "{path}");
}
