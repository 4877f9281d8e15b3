import { Type } from "typebox";
import { PageQuery } from "@skerry/contract/common";
import {
  Organization,
  OrganizationCreateRequest,
  OrganizationList,
  OrganizationUpdateRequest,
} from "@skerry/contract/organizations";
import type { Context } from "../context.ts";
import {
  changeOrganization,
  getOrganization,
  listOrganizationsOf,
  organizationCreation,
} from "./organization-service.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import { created } from "../api/idempotent-create.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";

/** The organization that the access table has as `path`: the caller is one of it. */
export const OrganizationParams = Type.Object({
  id: Type.String({ description: "Id of the organization." }),
});

export function organizationRoutes(context: Context): Routes {
  return (app, _options, done) => {
    app.post(
      "/v1/orgs",
      {
        schema: {
          operationId: "createOrganization",
          tags: ["organizations"],
          summary: "Create an organization, of which you are the first owner",
          description:
            "Only tokens of the operator's organization, the first one of an installation, can have the scope.",
          body: ref(OrganizationCreateRequest),
          response: { 201: ref(Organization) },
        },
      },
      async (request, reply) => {
        const creation = organizationCreation(context, callerOf(request), request.body);
        return reply.code(201).send(await created(context, { request, reply }, creation));
      },
    );
    app.get(
      "/v1/orgs",
      {
        schema: {
          operationId: "listOrganizations",
          tags: ["organizations"],
          summary: "The organizations that you are a member of, newest first",
          querystring: PageQuery,
          response: { 200: ref(OrganizationList) },
        },
      },
      (request) => listOrganizationsOf(context, callerOf(request), request.query),
    );
    app.get(
      "/v1/orgs/:id",
      {
        schema: {
          operationId: "getOrganization",
          tags: ["organizations"],
          summary: "One organization",
          params: OrganizationParams,
          response: { 200: ref(Organization) },
        },
      },
      (request) => getOrganization(context, callerOf(request)),
    );
    app.patch(
      "/v1/orgs/:id",
      {
        schema: {
          operationId: "updateOrganization",
          tags: ["organizations"],
          summary: "Change an organization; what is not named stays",
          params: OrganizationParams,
          body: ref(OrganizationUpdateRequest),
          response: { 200: ref(Organization) },
        },
      },
      (request) => changeOrganization(context, callerOf(request), request.body),
    );
    done();
  };
}
