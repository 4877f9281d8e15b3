import { Limits } from "@skerry/contract/limits/limits-report";
import type { Operations } from "../api/operation.ts";

export const limitOperations = {
  getLimits: {
    surface: "v1",
    method: "GET",
    path: "/v1/limits",
    tag: "orgs",
    summary: "The limits of the organization, and how much of each quota is taken",
    answers: { 200: Limits },
    access: { scope: "org:read", role: "viewer", rate: "read" },
    audit: { action: "organization.limits", resource: "organization" },
    errors: [],
  },
} as const satisfies Operations;
