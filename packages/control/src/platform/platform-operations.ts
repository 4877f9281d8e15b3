import { Type } from "typebox";
import { Health, Status } from "@skerry/contract/platform";
import type { Operations } from "../api/operation.ts";

export const healthOperations = {
  getHealth: {
    surface: "v1",
    method: "GET",
    path: "/v1/health",
    tag: "platform",
    summary: "Whether the control plane is running",
    answers: { 200: Health },
    access: "public",
    errors: [],
  },
} as const satisfies Operations;

export const statusOperations = {
  getStatus: {
    surface: "v1",
    method: "GET",
    path: "/v1/status",
    tag: "platform",
    summary: "What the organization has, by status, and how many hosts there are for it",
    answers: { 200: Status },
    access: { scope: "org:read", role: "viewer", rate: "read" },
    audit: { action: "organization.status", resource: "organization" },
    errors: [],
  },
} as const satisfies Operations;

export const metricsOperations = {
  getMetrics: {
    surface: "v1",
    method: "GET",
    path: "/metrics",
    tag: "platform",
    summary: "Metrics of the platform, in Prometheus' text format or in OpenMetrics'",
    description: "`Accept: application/openmetrics-text` chooses OpenMetrics. docs/metrics.md lists them.",
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
