import { Status } from "@skerry/contract/platform/status";
import type { Operations } from "../api/operation.ts";

export const statusOperations = {
  getStatus: {
    surface: "v1",
    method: "GET",
    path: "/v1/status",
    client: "status",
    tag: "platform",
    summary: "Show the status of the organization",
    description: "What the organization has, by status, and how many hosts there are for it.",
    answers: { 200: Status },
    access: { scope: "org:read", role: "viewer", rate: "read" },
    audit: { action: "organization.status", resource: "organization" },
    errors: [],
  },
} as const satisfies Operations;
