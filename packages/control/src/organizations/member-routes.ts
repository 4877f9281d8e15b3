import { Type } from "typebox";
import { PageQuery } from "@skerry/contract/common";
import {
  Member,
  MemberAdded,
  MemberAddRequest,
  MemberList,
  MemberUpdateRequest,
} from "@skerry/contract/organizations";
import type { Context } from "../context.ts";
import { changeRole, listMembersOf, memberAddition, removeMember } from "./member-service.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import { created } from "../api/idempotent-create.ts";
import { OrganizationParams } from "./organization-routes.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";

const MemberParams = Type.Object({
  ...OrganizationParams.properties,
  user_id: Type.String({ description: "Id of the member." }),
});

export function memberRoutes(context: Context): Routes {
  return (app, _options, done) => {
    app.get(
      "/v1/orgs/:id/members",
      {
        schema: {
          operationId: "listMembers",
          tags: ["organizations"],
          summary: "The members of an organization, newest users first",
          params: OrganizationParams,
          querystring: PageQuery,
          response: { 200: ref(MemberList) },
        },
      },
      (request) => listMembersOf(context, callerOf(request), request.query),
    );
    app.post(
      "/v1/orgs/:id/members",
      {
        schema: {
          operationId: "addMember",
          tags: ["organizations"],
          summary: "Add a member, new or known; the answer has a first token to hand over",
          params: OrganizationParams,
          body: ref(MemberAddRequest),
          response: { 201: ref(MemberAdded) },
        },
      },
      async (request, reply) => {
        const addition = memberAddition(context, callerOf(request), request.body);
        return reply.code(201).send(await created(context, { request, reply }, addition));
      },
    );
    app.patch(
      "/v1/orgs/:id/members/:user_id",
      {
        schema: {
          operationId: "updateMember",
          tags: ["organizations"],
          summary: "Change the role of a member",
          params: MemberParams,
          body: ref(MemberUpdateRequest),
          response: { 200: ref(Member) },
        },
      },
      (request) =>
        changeRole(context, callerOf(request), { userId: request.params.user_id, role: request.body.role }),
    );
    app.delete(
      "/v1/orgs/:id/members/:user_id",
      {
        schema: {
          operationId: "removeMember",
          tags: ["organizations"],
          summary: "Remove a member; the member's tokens in this organization end",
          params: MemberParams,
          response: { 204: Type.Null({ description: "The member is removed." }) },
        },
      },
      async (request, reply) => {
        await removeMember(context, callerOf(request), request.params.user_id);
        return reply.code(204).send(null);
      },
    );
    done();
  };
}
