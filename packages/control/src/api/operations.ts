// What each call needs, in one table: by it calls are refused, limited, recorded and documented. A route whose operation is not
// in it keeps the server from starting.

import type { FastifyInstance, FastifyRequest } from "fastify";
import { hasRole, type NeededScope, type RateClass, type Role } from "@skerry/contract/access";
import { SkerryError } from "@skerry/contract/errors";
import type { Caller } from "../caller.ts";

export interface Access {
  /** Null: any valid token. */
  readonly scope: NeededScope | null;
  /** In the organization that the request is for. */
  readonly role: Role;
  readonly rate: RateClass;
  /** The organization is the one in the path (`{id}`), and `X-Org-ID` says nothing. */
  readonly organization?: "path";
}

export const operations = {
  getHealth: "public",
  getDocs: "public",
  getStatus: { scope: "org:read", role: "viewer", rate: "read" },
  getMe: { scope: null, role: "viewer", rate: "read" },
  // Limits count per organization, so whoever made organizations at will would have none.
  createOrganization: { scope: "platform:write", role: "admin", rate: "expensive" },
  listOrganizations: { scope: "org:read", role: "viewer", rate: "read" },
  getOrganization: { scope: "org:read", role: "viewer", rate: "read", organization: "path" },
  updateOrganization: { scope: "org:write", role: "admin", rate: "write", organization: "path" },
  listMembers: { scope: "org:read", role: "viewer", rate: "read", organization: "path" },
  addMember: { scope: "org:write", role: "admin", rate: "expensive", organization: "path" },
  updateMember: { scope: "org:write", role: "admin", rate: "write", organization: "path" },
  removeMember: { scope: "org:write", role: "admin", rate: "write", organization: "path" },
  getMetrics: { scope: "metrics:read", role: "viewer", rate: "read" },
  getOpenapi: { scope: null, role: "viewer", rate: "read" },
  listAudit: { scope: "audit:read", role: "admin", rate: "read" },
  listSizes: { scope: "templates:read", role: "viewer", rate: "read" },
  listTemplates: { scope: "templates:read", role: "viewer", rate: "read" },
  getTemplate: { scope: "templates:read", role: "viewer", rate: "read" },
  listHosts: { scope: "hosts:read", role: "viewer", rate: "read" },
  getHost: { scope: "hosts:read", role: "viewer", rate: "read" },
  drainHost: { scope: "hosts:write", role: "admin", rate: "write" },
  activateHost: { scope: "hosts:write", role: "admin", rate: "write" },
  createJoinToken: { scope: "hosts:write", role: "admin", rate: "expensive" },
  removeHost: { scope: "hosts:write", role: "admin", rate: "write" },
  // Whoever calls these two has no API token, and proves that it has a join token.
  joinHost: "public",
  confirmHost: "public",
  getLimits: { scope: "org:read", role: "viewer", rate: "read" },
  createToken: { scope: "tokens:write", role: "member", rate: "expensive" },
  listTokens: { scope: "tokens:read", role: "viewer", rate: "read" },
  revokeToken: { scope: "tokens:write", role: "viewer", rate: "write" },
  createSandbox: { scope: "sandboxes:write", role: "member", rate: "expensive" },
  listSandboxes: { scope: "sandboxes:read", role: "viewer", rate: "read" },
  getSandbox: { scope: "sandboxes:read", role: "viewer", rate: "read" },
  destroySandbox: { scope: "sandboxes:write", role: "member", rate: "write" },
  keepSandboxAlive: { scope: "sandboxes:write", role: "member", rate: "write" },
  setSandboxEgress: { scope: "sandboxes:write", role: "member", rate: "write" },
  getSandboxEgress: { scope: "sandboxes:read", role: "viewer", rate: "read" },
  execute: { scope: "sandboxes:execute", role: "member", rate: "write" },
  uploadFile: { scope: "sandboxes:execute", role: "member", rate: "write" },
  // What a sandbox computes is in its files; whoever may read those could as well run `cat`.
  downloadFile: { scope: "sandboxes:execute", role: "member", rate: "read" },
  createMachine: { scope: "machines:write", role: "member", rate: "expensive" },
  listMachines: { scope: "machines:read", role: "viewer", rate: "read" },
  getMachine: { scope: "machines:read", role: "viewer", rate: "read" },
  destroyMachine: { scope: "machines:write", role: "member", rate: "write" },
  startMachine: { scope: "machines:write", role: "member", rate: "expensive" },
  stopMachine: { scope: "machines:write", role: "member", rate: "write" },
  restartMachine: { scope: "machines:write", role: "member", rate: "expensive" },
  // What its program prints is no more secret to a reader than its environment, which `getMachine` shows.
  getMachineLogs: { scope: "machines:read", role: "viewer", rate: "read" },
  setMachineEgress: { scope: "machines:write", role: "member", rate: "write" },
  getMachineEgress: { scope: "machines:read", role: "viewer", rate: "read" },
  executeInMachine: { scope: "machines:execute", role: "member", rate: "write" },
  uploadMachineFile: { scope: "machines:execute", role: "member", rate: "write" },
  downloadMachineFile: { scope: "machines:execute", role: "member", rate: "read" },
} as const satisfies Readonly<Record<string, Access | "public">>;
export type Operation = keyof typeof operations;

/** What a route of ours is, beside its schema. */
export interface RouteAccess {
  readonly operation: Operation;
  readonly access: Access | "public";
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** Set from the table; a route says it itself only where it answers nothing but a refusal. */
    skerry?: RouteAccess | "refusal";
  }
}

/** Finds each route's line in the table. Call it before the routes are registered. */
export function bindAccess(app: FastifyInstance): void {
  app.addHook("onRoute", (route) => {
    if (route.config?.skerry === "refusal") return;
    const operation = route.schema?.operationId ?? "";
    if (!isOperation(operation)) {
      throw new Error(
        `${String(route.method)} ${route.url}: the operation "${operation}" is not in api/operations.ts`,
      );
    }
    route.config = { ...route.config, skerry: { operation, access: operations[operation] } };
  });
}

/** Undefined where the request has met no route, or one that only refuses. */
export function accessOf(request: FastifyRequest): RouteAccess | undefined {
  if (request.is404) return undefined;
  const found = request.routeOptions.config.skerry;
  if (found === undefined) throw new Error(`${request.url} has no line in api/operations.ts`);
  return found === "refusal" ? undefined : found;
}

/** Throws `forbidden` where the caller lacks what the call needs, and says what that is. */
export function refuseUnlessAllowed(caller: Caller, { scope, role }: Access): void {
  if (!hasRole(caller.role, role)) {
    throw new SkerryError(
      "forbidden",
      `This call needs the role "${role}"; yours in this organization is "${caller.role}".`,
      {
        remediation: "Ask an owner or an admin of the organization.",
        context: { required_role: role, role: caller.role, organization_id: caller.orgId },
      },
    );
  }
  if (scope !== null && !caller.scopes.has(scope)) {
    throw new SkerryError("forbidden", `The token does not have the scope "${scope}" in this organization.`, {
      remediation: `Use a token with the scope "${scope}"; \`GET /v1/auth/me\` shows what yours has.`,
      context: { required_scope: scope, organization_id: caller.orgId },
    });
  }
}

function isOperation(name: string): name is Operation {
  return Object.hasOwn(operations, name);
}
