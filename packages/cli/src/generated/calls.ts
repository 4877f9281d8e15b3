// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

/** A method of the TypeScript client. */
export interface ApiCall {
  readonly operation: string;
  readonly summary: string;
  /** Arguments before the fields. */
  readonly parameters: readonly string[];
  /** Whether it takes fields, and which of them stand in the query. */
  readonly body?: true;
  readonly query?: readonly string[];
}

export const calls: Readonly<Record<string, ApiCall>> = {
  "executions.list": {
    operation: "listKeptExecutions",
    summary: "List executions whose output is kept",
    parameters: [],
  },
  "snapshots.list": { operation: "listSnapshots", summary: "List snapshots", parameters: [], query: ["of"] },
  "snapshots.get": { operation: "getSnapshot", summary: "Get a snapshot", parameters: ["id"] },
  "snapshots.delete": { operation: "deleteSnapshot", summary: "Delete a snapshot", parameters: ["id"] },
  "apps.create": { operation: "createApp", summary: "Create an app", parameters: [], body: true },
  "apps.list": { operation: "listApps", summary: "List apps", parameters: [] },
  "apps.get": { operation: "getApp", summary: "Get an app", parameters: ["id"] },
  "apps.update": { operation: "updateApp", summary: "Change an app", parameters: ["id"], body: true },
  "apps.delete": { operation: "deleteApp", summary: "Delete an app", parameters: ["id"] },
  "apps.deploy": { operation: "createDeploy", summary: "Deploy a release", parameters: ["id"], body: true },
  "apps.deploys": { operation: "listDeploys", summary: "List deploys of an app", parameters: ["id"] },
  "apps.getDeploy": { operation: "getDeploy", summary: "Get a deploy", parameters: ["id", "deploy"] },
  "apps.cancelDeploy": {
    operation: "cancelDeploy",
    summary: "Cancel a deploy",
    parameters: ["id", "deploy"],
  },
  "apps.metrics": {
    operation: "getAppMetrics",
    summary: "Get the metrics of an app",
    parameters: ["id"],
    query: ["since", "step"],
  },
  "apps.failures": {
    operation: "listAppFailures",
    summary: "List failed requests of an app",
    parameters: ["id"],
    query: ["since"],
  },
  "apps.createRoute": {
    operation: "createRoute",
    summary: "Create a route of an app",
    parameters: ["id"],
    body: true,
  },
  "apps.routes": { operation: "listRoutes", summary: "List routes of an app", parameters: ["id"] },
  "apps.deleteRoute": {
    operation: "deleteRoute",
    summary: "Delete a route of an app",
    parameters: ["id", "route"],
  },
  "apps.releases": { operation: "listReleases", summary: "List releases of an app", parameters: ["id"] },
  "apps.secrets": { operation: "listAppSecrets", summary: "List secrets of an app", parameters: ["id"] },
  "apps.setSecret": {
    operation: "setAppSecret",
    summary: "Set a secret of an app",
    parameters: ["id", "name"],
    body: true,
  },
  "apps.deleteSecret": {
    operation: "deleteAppSecret",
    summary: "Delete a secret of an app",
    parameters: ["id", "name"],
  },
  "apps.createOneOff": {
    operation: "createOneOff",
    summary: "Create a machine for commands",
    parameters: ["id"],
    body: true,
  },
  "apps.deleteOneOff": {
    operation: "deleteOneOff",
    summary: "Delete a machine for commands",
    parameters: ["id", "machine"],
  },
  "sizes.list": { operation: "listSizes", summary: "List sizes", parameters: [] },
  "templates.list": { operation: "listTemplates", summary: "List templates", parameters: [] },
  "templates.get": { operation: "getTemplate", summary: "Get a template", parameters: ["template"] },
  "templates.prepare": {
    operation: "prepareTemplate",
    summary: "Prepare a template",
    parameters: ["template"],
  },
  "templates.delete": { operation: "deleteTemplate", summary: "Delete a template", parameters: ["template"] },
  "templates.tag": {
    operation: "tagTemplate",
    summary: "Tag a template",
    parameters: ["name", "tag"],
    body: true,
  },
  "templates.untag": {
    operation: "untagTemplate",
    summary: "Remove a tag of a template",
    parameters: ["name", "tag"],
  },
  "registries.list": {
    operation: "listRegistryCredentials",
    summary: "List credentials of registries",
    parameters: [],
  },
  "registries.set": {
    operation: "setRegistryCredential",
    summary: "Set credentials of a registry",
    parameters: ["host"],
    body: true,
  },
  "registries.delete": {
    operation: "deleteRegistryCredential",
    summary: "Delete credentials of a registry",
    parameters: ["host"],
  },
  "builds.list": {
    operation: "listBuilds",
    summary: "List builds",
    parameters: [],
    query: ["status", "name"],
  },
  "builds.get": { operation: "getBuild", summary: "Get a build", parameters: ["id"] },
  "builds.egress": { operation: "getBuildEgress", summary: "Show the egress of a build", parameters: ["id"] },
  "builds.cancel": { operation: "cancelBuild", summary: "Cancel a build", parameters: ["id"] },
  "builds.retry": { operation: "retryBuild", summary: "Try a build again", parameters: ["id"] },
  "cache.list": { operation: "listCache", summary: "List the build cache", parameters: [] },
  "cache.clear": { operation: "clearCache", summary: "Clear the build cache", parameters: [] },
  "secrets.list": { operation: "listSecrets", summary: "List secrets", parameters: [] },
  "secrets.get": { operation: "getSecret", summary: "Get a secret", parameters: ["name"] },
  "secrets.set": { operation: "setSecret", summary: "Set a secret", parameters: ["name"], body: true },
  "secrets.rollBack": {
    operation: "rollBackSecret",
    summary: "Roll back a secret",
    parameters: ["name"],
    body: true,
  },
  "secrets.delete": { operation: "deleteSecret", summary: "Delete a secret", parameters: ["name"] },
  "tokens.create": { operation: "createToken", summary: "Mint a token", parameters: [], body: true },
  "tokens.list": { operation: "listTokens", summary: "List tokens", parameters: [] },
  "tokens.revoke": { operation: "revokeToken", summary: "Revoke a token", parameters: ["id"] },
  me: { operation: "getMe", summary: "Show who is calling", parameters: [] },
  "organizations.create": {
    operation: "createOrganization",
    summary: "Create an organization",
    parameters: [],
    body: true,
  },
  "organizations.list": { operation: "listOrganizations", summary: "List organizations", parameters: [] },
  "organizations.get": { operation: "getOrganization", summary: "Get an organization", parameters: ["id"] },
  "organizations.update": {
    operation: "updateOrganization",
    summary: "Change an organization",
    parameters: ["id"],
    body: true,
  },
  "organizations.delete": {
    operation: "deleteOrganization",
    summary: "Delete an organization",
    parameters: ["id"],
  },
  "organizations.members": { operation: "listMembers", summary: "List members", parameters: ["id"] },
  "organizations.addMember": {
    operation: "addMember",
    summary: "Add a member",
    parameters: ["id"],
    body: true,
  },
  "organizations.updateMember": {
    operation: "updateMember",
    summary: "Change the role of a member",
    parameters: ["id", "user_id"],
    body: true,
  },
  "organizations.removeMember": {
    operation: "removeMember",
    summary: "Remove a member",
    parameters: ["id", "user_id"],
  },
  limits: { operation: "getLimits", summary: "Show the limits of the organization", parameters: [] },
  "organizations.limits": {
    operation: "getOrganizationLimits",
    summary: "Show the limits of one organization",
    parameters: ["id"],
  },
  "organizations.setLimits": {
    operation: "setOrganizationLimits",
    summary: "Change the limits of one organization",
    parameters: ["id"],
    body: true,
  },
  usage: {
    operation: "getUsage",
    summary: "Show the usage of the organization over time",
    parameters: [],
    query: ["since", "until", "step"],
  },
  "audit.list": {
    operation: "listAudit",
    summary: "List audit events",
    parameters: [],
    query: ["action", "resource_id", "user_id", "token_id", "since", "until"],
  },
  "hosts.list": { operation: "listHosts", summary: "List hosts", parameters: [] },
  "hosts.get": { operation: "getHost", summary: "Get a host", parameters: ["id"] },
  "hosts.remove": { operation: "removeHost", summary: "Remove a host", parameters: ["id"], query: ["force"] },
  "hosts.createJoinToken": { operation: "createJoinToken", summary: "Create a join token", parameters: [] },
  "hosts.authority": { operation: "getAuthority", summary: "Get the certificate authority", parameters: [] },
  "hosts.rotateAuthority": {
    operation: "rotateAuthority",
    summary: "Rotate the certificate authority",
    parameters: [],
    body: true,
  },
  "hosts.drain": { operation: "drainHost", summary: "Drain a host", parameters: ["id"] },
  "hosts.activate": { operation: "activateHost", summary: "Activate a host", parameters: ["id"] },
  "moves.list": {
    operation: "listMoves",
    summary: "List moves",
    parameters: [],
    query: ["status", "host", "vm"],
  },
  "moves.get": { operation: "getMove", summary: "Get a move", parameters: ["id"] },
  status: { operation: "getStatus", summary: "Show the status of the organization", parameters: [] },
  "backgroundServices.list": {
    operation: "listBackgroundServices",
    summary: "List the background services",
    parameters: [],
  },
  "backgroundServices.get": {
    operation: "getBackgroundService",
    summary: "Get a background service",
    parameters: ["name"],
  },
  "backgroundServices.run": {
    operation: "runBackgroundService",
    summary: "Run a background service now",
    parameters: ["name"],
  },
  health: { operation: "getHealth", summary: "Check the health of the control plane", parameters: [] },
};
