import { Type } from "typebox";
import type { Operations } from "../api/operation.ts";

export const metricsOperations = {
  getMetrics: {
    surface: "v1",
    method: "GET",
    path: "/metrics",
    tag: "platform",
    summary: "Read the metrics of the platform",
    description:
      "In Prometheus' text format or in OpenMetrics': " +
      "`Accept: application/openmetrics-text` chooses OpenMetrics. docs/metrics.md lists them.",
    answers: {
      200: {
        description: "The metrics.",
        content: {
          "text/plain": { schema: Type.String() },
          "application/openmetrics-text": { schema: Type.String() },
        },
      },
    },
    access: { scope: "metrics:read", role: "viewer", rate: "read" },
    audit: { action: "platform.metrics", resource: "platform" },
    errors: [],
  },
} as const satisfies Operations;
