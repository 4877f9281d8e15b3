// GET /metrics, for scrapers: on the API's address with a token, or without one on an address of its own.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { boundUnanswered } from "@skerry/contract/connections/unanswered";
import type { Format } from "../metrics/families.ts";
import type { Context } from "../context.ts";
import { MetricsCollector } from "./metrics-collector.ts";
import { routes } from "../api/routes.ts";
import { metricsOperations } from "./metrics-operations.ts";

const contentTypes: Readonly<Record<Format, string>> = {
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

export const metricsRoutes = routes(metricsOperations, (context) => {
  const scraper = new MetricsCollector(context);
  return {
    getMetrics: async (request, reply) => {
      const format = wantedFormat(request.headers.accept);
      return reply.type(contentTypes[format]).send(await scraper.text(format));
    },
  };
});

const HEAD_DEADLINE_MS = 5_000;
const CONNECTIONS_MAX = 64;

/** A server that answers scrapes and nothing else, to each client that can reach it. */
export function buildMetricsServer(context: Context): Server {
  const scraper = new MetricsCollector(context);
  const server = createServer({ headersTimeout: HEAD_DEADLINE_MS, requestTimeout: HEAD_DEADLINE_MS });
  server.maxConnections = CONNECTIONS_MAX;
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url?.split("?", 1)[0] !== "/metrics") return refuse(response, 404);
    if (request.method !== "GET" && request.method !== "HEAD") return refuse(response, 405);
    const format = wantedFormat(request.headers.accept);
    scraper.text(format).then(
      (text) => response.writeHead(200, { "content-type": contentTypes[format] }).end(text),
      (error: unknown) => {
        context.log.error({ err: error }, "a scrape failed");
        refuse(response, 500);
      },
    );
  };
  return server.on("request", boundUnanswered(answer));
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { connection: "close" }).end();
}

/** OpenMetrics where the client likes it at least as much as plain text. */
export function wantedFormat(accept = ""): Format {
  const weights = new Map(
    accept.split(",").map((range) => {
      const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
      const quality = parameters.find((parameter) => parameter.startsWith("q="));
      return [type, quality === undefined ? 1 : Number(quality.slice(2))];
    }),
  );
  const openmetrics = weights.get("application/openmetrics-text") ?? 0;
  const plain = weights.get("text/plain") ?? weights.get("text/*") ?? 0;
  return openmetrics > 0 && openmetrics >= plain ? "openmetrics" : "prometheus";
}
