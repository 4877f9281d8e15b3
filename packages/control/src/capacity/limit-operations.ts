import { Type } from "typebox";
import { Limits, LimitsChangeRequest, OrganizationLimitsReport } from "@skerry/contract/limits/limits-report";
import type { Operations } from "../api/operation.ts";

/** Any organization: the caller is the operator, and need not be a member of it. */
const AnyOrganizationParams = Type.Object({
  id: Type.String({ description: "Id of any organization." }),
});

export const limitOperations = {
  getLimits: {
    surface: "v1",
    method: "GET",
    path: "/v1/limits",
    client: "limits",
    tag: "organizations",
    summary: "Show the limits of the organization",
    description: "What it may do and hold, and how much of each quota is taken.",
    answers: { 200: Limits },
    access: { scope: "org:read", role: "viewer", rate: "read" },
    audit: { action: "organization.limits", resource: "organization" },
    errors: [],
  },
  getOrganizationLimits: {
    surface: "v1",
    method: "GET",
    path: "/v1/orgs/:id/limits",
    client: "organizations.limits",
    tag: "organizations",
    summary: "Show the limits of one organization",
    description:
      "As the operator: its limits, what of them is taken, and what was set for it.\n\n" +
      "Only tokens of the operator's organization, the first one of an installation, can have the scope.",
    params: AnyOrganizationParams,
    answers: { 200: OrganizationLimitsReport },
    access: { scope: "platform:write", role: "admin", rate: "read" },
    audit: { action: "organization.get_limits", resource: "organization" },
    errors: [],
  },
  setOrganizationLimits: {
    surface: "v1",
    method: "PATCH",
    path: "/v1/orgs/:id/limits",
    tag: "organizations",
    summary: "Change the limits of one organization",
    description:
      "As the operator: what it may do and hold. What is not named stays.\n\n" +
      "It counts from the next request on. What the organization holds already it keeps, also where that is more than a quota then allows. " +
      "Only tokens of the operator's organization, the first one of an installation, can have the scope.",
    params: AnyOrganizationParams,
    body: LimitsChangeRequest,
    answers: { 200: OrganizationLimitsReport },
    access: { scope: "platform:write", role: "admin", rate: "write" },
    audit: { action: "organization.set_limits", resource: "organization" },
    errors: [],
  },
} as const satisfies Operations;
