import { Type } from "typebox";
import { NoFields } from "@skerry/contract/named";
import { BackgroundService, BackgroundServiceList } from "@skerry/contract/platform/background-service";
import type { Operations } from "../api/operation.ts";

const params = Type.Object({ name: Type.String() });

export const backgroundServiceOperations = {
  listBackgroundServices: {
    surface: "v1",
    method: "GET",
    path: "/v1/background-services",
    tag: "platform",
    summary: "List the background services",
    description: "What the control plane does by itself, when each has run, and what came of it.",
    answers: { 200: BackgroundServiceList },
    access: { scope: "metrics:read", role: "viewer", rate: "read" },
    audit: { action: "service.list", resource: "service" },
    errors: [],
  },
  getBackgroundService: {
    surface: "v1",
    method: "GET",
    path: "/v1/background-services/:name",
    tag: "platform",
    summary: "Get a background service",
    params,
    answers: { 200: BackgroundService },
    access: { scope: "metrics:read", role: "viewer", rate: "read" },
    audit: { action: "service.get", resource: "service" },
    errors: ["service_not_found"],
  },
  runBackgroundService: {
    surface: "v1",
    method: "POST",
    path: "/v1/background-services/:name/run",
    tag: "platform",
    summary: "Run a background service now",
    description:
      "It is due at once, on one of the replicas. Answers before it has run: `last_run` tells when it has. One that runs already runs once more.",
    params,
    body: NoFields,
    isBodyOptional: true,
    answers: { 200: BackgroundService },
    access: { scope: "platform:write", role: "admin", rate: "write" },
    audit: { action: "service.run", resource: "service" },
    errors: ["service_not_found"],
  },
} as const satisfies Operations;
