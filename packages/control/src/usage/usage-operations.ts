import { Usage, UsageQuery } from "@skerry/contract/usage/usage";
import type { Operations } from "../api/operation.ts";

export const usageOperations = {
  getUsage: {
    surface: "v1",
    method: "GET",
    path: "/v1/usage",
    client: "usage",
    tag: "organizations",
    summary: "Show the usage of the organization over time",
    description:
      "What it has had at once, how much it has made, and what its egress rules have refused. It is measured once a minute and kept for 30 days, after two of them in steps of ten minutes.",
    query: UsageQuery,
    answers: { 200: Usage },
    access: { scope: "org:read", role: "viewer", rate: "read" },
    audit: { action: "organization.usage", resource: "organization" },
    errors: ["invalid_duration", "timeout_too_long"],
  },
} as const satisfies Operations;
