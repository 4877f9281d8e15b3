import { callerActOf } from "../api/audit-hook.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { deleteOrganization } from "./delete-organization.ts";
import { organizationOperations } from "./organization-operations.ts";
import {
  changeOrganization,
  getOrganization,
  listOrganizationsOf,
  organizationCreation,
} from "./organizations.ts";

export const organizationRoutes = routes(organizationOperations, (context) => ({
  createOrganization: (request) => organizationCreation(context, callerOf(request), request.body),
  listOrganizations: (request) => listOrganizationsOf(context, callerOf(request), request.query),
  getOrganization: (request) => getOrganization(context, callerOf(request)),
  updateOrganization: (request) => changeOrganization(context, callerOf(request), request.body),
  deleteOrganization: (request) => deleteOrganization(context, callerActOf(request), request.params.id),
}));
