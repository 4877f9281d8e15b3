// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With `{name}` for each parameter. */
  readonly path: string;
  /** Method of the TypeScript client. */
  readonly call: string;
  /** Name for an item where the method gives one after the other. */
  readonly item?: string;
}

export const requests = {
  listKeptExecutions: { method: "GET", path: "/v1/executions", call: "executions.list", item: "execution" },
  listSnapshots: { method: "GET", path: "/v1/snapshots", call: "snapshots.list", item: "snapshot" },
  getSnapshot: { method: "GET", path: "/v1/snapshots/{id}", call: "snapshots.get" },
  deleteSnapshot: { method: "DELETE", path: "/v1/snapshots/{id}", call: "snapshots.delete" },
  listSizes: { method: "GET", path: "/v1/sizes", call: "sizes.list" },
  listTemplates: { method: "GET", path: "/v1/templates", call: "templates.list" },
  getTemplate: { method: "GET", path: "/v1/templates/{template}", call: "templates.get" },
  prepareTemplate: { method: "POST", path: "/v1/templates/{template}/prepare", call: "templates.prepare" },
  deleteTemplate: { method: "DELETE", path: "/v1/templates/{template}", call: "templates.delete" },
  tagTemplate: { method: "PUT", path: "/v1/templates/{name}/tags/{tag}", call: "templates.tag" },
  untagTemplate: { method: "DELETE", path: "/v1/templates/{name}/tags/{tag}", call: "templates.untag" },
  listRegistryCredentials: { method: "GET", path: "/v1/registry-credentials", call: "registries.list" },
  setRegistryCredential: { method: "PUT", path: "/v1/registry-credentials/{host}", call: "registries.set" },
  deleteRegistryCredential: {
    method: "DELETE",
    path: "/v1/registry-credentials/{host}",
    call: "registries.delete",
  },
  listBuilds: { method: "GET", path: "/v1/builds", call: "builds.list", item: "build" },
  getBuild: { method: "GET", path: "/v1/builds/{id}", call: "builds.get" },
  getBuildEgress: { method: "GET", path: "/v1/builds/{id}/egress", call: "builds.egress" },
  cancelBuild: { method: "POST", path: "/v1/builds/{id}/cancel", call: "builds.cancel" },
  retryBuild: { method: "POST", path: "/v1/builds/{id}/retry", call: "builds.retry" },
  listCache: { method: "GET", path: "/v1/cache", call: "cache.list", item: "entry" },
  clearCache: { method: "DELETE", path: "/v1/cache", call: "cache.clear" },
  listSecrets: { method: "GET", path: "/v1/secrets", call: "secrets.list" },
  getSecret: { method: "GET", path: "/v1/secrets/{name}", call: "secrets.get" },
  setSecret: { method: "PUT", path: "/v1/secrets/{name}", call: "secrets.set" },
  rollBackSecret: { method: "POST", path: "/v1/secrets/{name}/rollback", call: "secrets.rollBack" },
  deleteSecret: { method: "DELETE", path: "/v1/secrets/{name}", call: "secrets.delete" },
  createToken: { method: "POST", path: "/v1/auth/tokens", call: "tokens.create" },
  listTokens: { method: "GET", path: "/v1/auth/tokens", call: "tokens.list", item: "token" },
  revokeToken: { method: "DELETE", path: "/v1/auth/tokens/{id}", call: "tokens.revoke" },
  getMe: { method: "GET", path: "/v1/auth/me", call: "me" },
  createOrganization: { method: "POST", path: "/v1/orgs", call: "organizations.create" },
  listOrganizations: { method: "GET", path: "/v1/orgs", call: "organizations.list", item: "organization" },
  getOrganization: { method: "GET", path: "/v1/orgs/{id}", call: "organizations.get" },
  updateOrganization: { method: "PATCH", path: "/v1/orgs/{id}", call: "organizations.update" },
  deleteOrganization: { method: "DELETE", path: "/v1/orgs/{id}", call: "organizations.delete" },
  listMembers: {
    method: "GET",
    path: "/v1/orgs/{id}/members",
    call: "organizations.members",
    item: "member",
  },
  addMember: { method: "POST", path: "/v1/orgs/{id}/members", call: "organizations.addMember" },
  updateMember: {
    method: "PATCH",
    path: "/v1/orgs/{id}/members/{user_id}",
    call: "organizations.updateMember",
  },
  removeMember: {
    method: "DELETE",
    path: "/v1/orgs/{id}/members/{user_id}",
    call: "organizations.removeMember",
  },
  getLimits: { method: "GET", path: "/v1/limits", call: "limits" },
  getOrganizationLimits: { method: "GET", path: "/v1/orgs/{id}/limits", call: "organizations.limits" },
  setOrganizationLimits: { method: "PATCH", path: "/v1/orgs/{id}/limits", call: "organizations.setLimits" },
  getUsage: { method: "GET", path: "/v1/usage", call: "usage" },
  listAudit: { method: "GET", path: "/v1/audit", call: "audit.list", item: "event" },
  listHosts: { method: "GET", path: "/v1/hosts", call: "hosts.list", item: "host" },
  getHost: { method: "GET", path: "/v1/hosts/{id}", call: "hosts.get" },
  removeHost: { method: "DELETE", path: "/v1/hosts/{id}", call: "hosts.remove" },
  createJoinToken: { method: "POST", path: "/v1/hosts/join-tokens", call: "hosts.createJoinToken" },
  getAuthority: { method: "GET", path: "/v1/authority", call: "hosts.authority" },
  rotateAuthority: { method: "POST", path: "/v1/authority/rotate", call: "hosts.rotateAuthority" },
  drainHost: { method: "POST", path: "/v1/hosts/{id}/drain", call: "hosts.drain" },
  activateHost: { method: "POST", path: "/v1/hosts/{id}/activate", call: "hosts.activate" },
  listMoves: { method: "GET", path: "/v1/moves", call: "moves.list", item: "move" },
  getMove: { method: "GET", path: "/v1/moves/{id}", call: "moves.get" },
  getStatus: { method: "GET", path: "/v1/status", call: "status" },
  listBackgroundServices: { method: "GET", path: "/v1/background-services", call: "backgroundServices.list" },
  getBackgroundService: {
    method: "GET",
    path: "/v1/background-services/{name}",
    call: "backgroundServices.get",
  },
  runBackgroundService: {
    method: "POST",
    path: "/v1/background-services/{name}/run",
    call: "backgroundServices.run",
  },
  getHealth: { method: "GET", path: "/v1/health", call: "health" },
} as const satisfies Readonly<Record<string, ApiRequest>>;
