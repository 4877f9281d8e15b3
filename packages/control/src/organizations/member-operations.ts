import { Type } from "typebox";
import { PageQuery } from "@skerry/contract/page";
import {
  Member,
  MemberAdded,
  MemberAddRequest,
  MemberList,
  MemberUpdateRequest,
} from "@skerry/contract/organizations/organization";
import type { Operations } from "../api/operation.ts";
import { OrganizationParams } from "./organization-operations.ts";

const MemberParams = Type.Object({
  ...OrganizationParams.properties,
  user_id: Type.String({ description: "Id of the member." }),
});

export const memberOperations = {
  listMembers: {
    surface: "v1",
    method: "GET",
    path: "/v1/orgs/:id/members",
    client: "organizations.members",
    tag: "organizations",
    summary: "List members",
    description: "The members of an organization, newest users first.",
    params: OrganizationParams,
    query: PageQuery,
    answers: { 200: MemberList },
    access: { scope: "org:read", role: "viewer", rate: "read", ticketOf: "token", organization: "path" },
    audit: { action: "member.list", resource: "member" },
    errors: [],
  },
  addMember: {
    surface: "v1",
    method: "POST",
    path: "/v1/orgs/:id/members",
    tag: "organizations",
    summary: "Add a member",
    description: "New or known. The answer has a first token to hand over.",
    params: OrganizationParams,
    body: MemberAddRequest,
    answers: { 201: MemberAdded },
    access: { scope: "org:write", role: "admin", rate: "expensive", organization: "path" },
    audit: { action: "member.add", resource: "member" },
    errors: ["invalid_duration", "timeout_too_long", "user_not_found", "already_member", "quota_exceeded"],
  },
  updateMember: {
    surface: "v1",
    method: "PATCH",
    path: "/v1/orgs/:id/members/:user_id",
    tag: "organizations",
    summary: "Change the role of a member",
    params: MemberParams,
    body: MemberUpdateRequest,
    answers: { 200: Member },
    access: { scope: "org:write", role: "admin", rate: "write", organization: "path" },
    audit: { action: "member.update", resource: "member" },
    errors: ["member_not_found", "last_owner"],
  },
  removeMember: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/orgs/:id/members/:user_id",
    tag: "organizations",
    summary: "Remove a member",
    description: "The member's tokens in this organization end.",
    params: MemberParams,
    answers: { 204: Type.Null({ description: "The member is removed." }) },
    access: { scope: "org:write", role: "admin", rate: "write", ticketOf: "token", organization: "path" },
    audit: { action: "member.remove", resource: "member" },
    errors: ["member_not_found", "last_owner"],
  },
} as const satisfies Operations;
