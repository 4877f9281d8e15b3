import { Type } from "typebox";
import { PageQuery } from "@skerry/contract/page";
import {
  Organization,
  OrganizationCreateRequest,
  OrganizationList,
  OrganizationUpdateRequest,
} from "@skerry/contract/organizations/organization";
import type { Operations } from "../api/operation.ts";

/** The caller is a member of the organization in the path. */
export const OrganizationParams = Type.Object({
  id: Type.String({ description: "Id of the organization." }),
});

export const organizationOperations = {
  createOrganization: {
    surface: "v1",
    method: "POST",
    path: "/v1/orgs",
    tag: "organizations",
    summary: "Create an organization",
    description:
      "You are its first owner.\n\n" +
      "Only tokens of the operator's organization, the first one of an installation, can have the scope.",
    body: OrganizationCreateRequest,
    answers: { 201: Organization },
    // Limits count per organization, so a user who made organizations at will would have none.
    access: { scope: "platform:write", role: "admin", rate: "expensive" },
    audit: { action: "organization.create", resource: "organization" },
    errors: [],
  },
  listOrganizations: {
    surface: "v1",
    method: "GET",
    path: "/v1/orgs",
    tag: "organizations",
    summary: "List organizations",
    description: "Those that you are a member of, newest first.",
    query: PageQuery,
    answers: { 200: OrganizationList },
    access: { scope: "org:read", role: "viewer", rate: "read" },
    audit: { action: "organization.list", resource: "organization" },
    errors: [],
  },
  getOrganization: {
    surface: "v1",
    method: "GET",
    path: "/v1/orgs/:id",
    tag: "organizations",
    summary: "Get an organization",
    params: OrganizationParams,
    answers: { 200: Organization },
    access: { scope: "org:read", role: "viewer", rate: "read", organization: "path" },
    audit: { action: "organization.get", resource: "organization" },
    errors: [],
  },
  updateOrganization: {
    surface: "v1",
    method: "PATCH",
    path: "/v1/orgs/:id",
    tag: "organizations",
    summary: "Change an organization",
    description: "What is not named stays.",
    params: OrganizationParams,
    body: OrganizationUpdateRequest,
    answers: { 200: Organization },
    access: { scope: "org:write", role: "admin", rate: "write", organization: "path" },
    audit: { action: "organization.update", resource: "organization" },
    errors: [],
  },
  deleteOrganization: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/orgs/:id",
    tag: "organizations",
    summary: "Delete an organization",
    description:
      "Its sandboxes and machines must be destroyed before. Its tokens end, and its members are members no more; its audit log is kept. " +
      "An owner may, and the operator of the platform with the scope `platform:write`. The operator's own organization cannot be deleted.",
    params: OrganizationParams,
    answers: { 204: Type.Null({ description: "It is deleted." }) },
    access: {
      scope: "org:write",
      role: "owner",
      rate: "write",
      organization: "path",
      asOperator: "platform:write",
    },
    audit: { action: "organization.delete", resource: "organization" },
    errors: ["organization_not_empty", "operator_organization"],
  },
} as const satisfies Operations;
