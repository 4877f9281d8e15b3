// One call of each operation that succeeds, so that tests can go through all of them. A new operation has to be added here before
// anything compiles.

import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { newId } from "@skerry/contract/ids";
import type { OperationId } from "../../src/app/operations.ts";
import { activateBuilder, builtTemplate, newBuild } from "./builds.ts";
import { JoiningHost, newJoinToken } from "./joining-host.ts";
import { FRIENDLY_PORT } from "./fake-ports.ts";
import { Members } from "./members.ts";
import type { World } from "./world.ts";

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
}

const call = (method: Call["method"], path: string, body?: unknown): Call => ({ method, path, body });

type Prepare = (world: World) => Promise<Call>;

/** Makes what the call is about. */
export const calls: Readonly<Record<OperationId, Prepare>> = {
  getHealth: async () => call("GET", "/v1/health"),
  getRoot: async () => call("GET", "/"),
  getDocs: async () => call("GET", "/docs"),
  getDashboardRoot: async () => call("GET", "/ui"),
  getDashboard: async () => call("GET", "/ui/"),
  getDashboardAsset: async () => call("GET", "/ui/assets/main-0.js"),
  getDashboardSession: async () => call("GET", "/ui/session"),
  getSdk: async () => call("GET", "/sdk.tgz"),
  getCli: async () => call("GET", "/cli"),
  getCliPackage: async () => call("GET", "/cli.tgz"),
  getWheel: async () => call("GET", "/skerry.whl"),
  getClientFile: async () => call("GET", "/clients/skerry.cjs"),
  getInstaller: async () => call("GET", "/install.sh"),
  getStatus: async () => call("GET", "/v1/status"),
  getMetrics: async () => call("GET", "/metrics"),
  getOpenapi: async () => call("GET", "/v1/openapi.json"),
  exportAudit: async () => call("GET", "/v1/audit/export"),
  listAudit: async () => call("GET", "/v1/audit"),
  getMe: async () => call("GET", "/v1/auth/me"),
  createOrganization: async () => call("POST", "/v1/orgs", { name: "new" }),
  listOrganizations: async () => call("GET", "/v1/orgs"),
  getOrganization: async ({ orgId }) => call("GET", `/v1/orgs/${orgId}`),
  updateOrganization: async ({ orgId }) => call("PATCH", `/v1/orgs/${orgId}`, { egress_default: "deny_all" }),
  deleteOrganization: async (world) => call("DELETE", (await new Members(world).newOrganization()).path),
  listMembers: async ({ orgId }) => call("GET", `/v1/orgs/${orgId}/members`),
  addMember: async ({ orgId }) =>
    call("POST", `/v1/orgs/${orgId}/members`, { name: randomUUID(), role: "viewer" }),
  updateMember: async (world) => call("PATCH", await member(world), { role: "viewer" }),
  removeMember: async (world) => call("DELETE", await member(world)),
  listHosts: async () => call("GET", "/v1/hosts"),
  getHost: async (world) => call("GET", await hostPath(world)),
  listMoves: async () => call("GET", "/v1/moves"),
  getMove: async (world) => call("GET", `/v1/moves/${await move(world)}`),
  listBackgroundServices: async () => call("GET", "/v1/background-services"),
  getBackgroundService: async () => call("GET", "/v1/background-services/mover"),
  runBackgroundService: async () => call("POST", "/v1/background-services/mover/run"),
  drainHost: async (world) => call("POST", await hostPath(world, "/drain")),
  activateHost: async (world) => call("POST", await hostPath(world, "/activate")),
  getAuthority: async () => call("GET", "/v1/authority"),
  rotateAuthority: async () => call("POST", "/v1/authority/rotate", {}),
  createJoinToken: async () => call("POST", "/v1/hosts/join-tokens", {}),
  removeHost: async (world) => call("DELETE", `/v1/hosts/${(await confirmation(world)).host_id}`),
  joinHost: async (world) => call("POST", "/v1/hosts/join", await joinRequest(world)),
  confirmHost: async (world) => call("POST", "/v1/hosts/join/confirm", await confirmation(world)),
  getUsage: async () => call("GET", "/v1/usage"),
  getLimits: async () => call("GET", "/v1/limits"),
  getOrganizationLimits: async ({ orgId }) => call("GET", `/v1/orgs/${orgId}/limits`),
  setOrganizationLimits: async ({ orgId }) =>
    call("PATCH", `/v1/orgs/${orgId}/limits`, { quota_machines: 1_000 }),
  listSizes: async () => call("GET", "/v1/sizes"),
  listTemplates: async () => call("GET", "/v1/templates"),
  getTemplate: async () => call("GET", "/v1/templates/base"),
  createTemplate: async () =>
    call("POST", "/v1/templates", { name: "web", size: "shared-cpu-1x", steps: [{ run: "make" }] }),
  pushTemplate: async (world) =>
    call("POST", `/v1/templates/${(await builtTemplate(world)).template_id}/push`, { image: "a.b/c" }),
  deleteTemplate: async (world) =>
    call("DELETE", `/v1/templates/${(await builtTemplate(world)).template_id}`),
  tagTemplate: async (world) => {
    const { template_id } = await builtTemplate(world);
    return call("PUT", "/v1/templates/web/tags/stable", { template: template_id });
  },
  untagTemplate: async (world) => {
    await builtTemplate(world);
    return call("DELETE", "/v1/templates/web/tags/latest");
  },
  listBuilds: async () => call("GET", "/v1/builds"),
  getBuild: async (world) => call("GET", `/v1/builds/${(await newBuild(world)).id}`),
  getBuildEgress: async (world) => call("GET", `/v1/builds/${(await newBuild(world)).id}/egress`),
  getBuildLog: async (world) => call("GET", `/v1/builds/${(await newBuild(world)).id}/logs`),
  uploadBuildContext: async (world) => {
    const { id } = await newBuild(world, { context: true });
    await activateBuilder(world);
    return call("PUT", `/v1/builds/${id}/context`, "x");
  },
  listCache: async () => call("GET", "/v1/cache"),
  clearCache: async () => call("DELETE", "/v1/cache"),
  uploadBuildSecret: async (world) => {
    const { id } = await newBuild(world, { context: true });
    await activateBuilder(world);
    return call("PUT", `/v1/builds/${id}/secrets/token`, "x");
  },
  cancelBuild: async (world) => call("POST", `/v1/builds/${(await newBuild(world)).id}/cancel`),
  retryBuild: async (world) => {
    const { id } = await newBuild(world);
    await world.call("POST", `/v1/builds/${id}/cancel`);
    return call("POST", `/v1/builds/${id}/retry`);
  },
  listRegistryCredentials: async () => call("GET", "/v1/registry-credentials"),
  setRegistryCredential: async () =>
    call("PUT", "/v1/registry-credentials/registry.example:5000", { username: "me", password: "secret" }),
  deleteRegistryCredential: async (world) => {
    const path = "/v1/registry-credentials/old.example";
    await world.call("PUT", path, { body: { username: "me", password: "secret" } });
    return call("DELETE", path);
  },
  createToken: async () => call("POST", "/v1/auth/tokens", {}),
  createLoginCode: async () => call("POST", "/v1/auth/login-codes", {}),
  createSession: async ({ token }) => call("POST", "/v1/auth/sessions", { token }),
  endSession: async () => call("DELETE", "/v1/auth/sessions"),
  listTokens: async () => call("GET", "/v1/auth/tokens"),
  revokeToken: async (world) => {
    const minted = await world.call<{ id: string }>("POST", "/v1/auth/tokens", { body: {} });
    return call("DELETE", `/v1/auth/tokens/${minted.body.id}`);
  },
  createSandbox: async () => call("POST", "/v1/sandboxes", { template: "base" }),
  listSandboxes: async () => call("GET", "/v1/sandboxes"),
  getSandbox: async (world) => call("GET", await sandbox(world)),
  destroySandbox: async (world) => call("DELETE", await sandbox(world)),
  keepSandboxAlive: async (world) => call("POST", await sandbox(world, "/keepalive"), { timeout: "20h" }),
  pauseSandbox: async (world) => call("POST", await persistent(world, "/pause")),
  resumeSandbox: async (world) => {
    const path = await persistent(world);
    await world.call("POST", `${path}/pause`);
    return call("POST", `${path}/resume`);
  },
  followEvents: async () => call("GET", "/v1/events"),
  createSnapshot: async (world) => call("POST", await sandbox(world, "/snapshots"), {}),
  listSnapshots: async () => call("GET", "/v1/snapshots"),
  getSnapshot: async (world) => call("GET", `/v1/snapshots/${(await snapshot(world)).id}`),
  deleteSnapshot: async (world) => call("DELETE", `/v1/snapshots/${(await snapshot(world)).id}`),
  createMachineSnapshot: async (world) => call("POST", await machine(world, "/snapshots"), {}),
  forkMachine: async (world) => call("POST", await machine(world, "/fork"), { count: 2 }),
  rollBackMachine: async (world) => {
    const path = await machine(world);
    const { body } = await world.call<{ id: string }>("POST", `${path}/snapshots`, { body: {} });
    return call("POST", `${path}/rollback`, { snapshot: body.id });
  },
  forkSandbox: async (world) => call("POST", await sandbox(world, "/fork"), { count: 2 }),
  rollBackSandbox: async (world) => {
    const { id, sandbox_id } = await snapshot(world);
    return call("POST", `/v1/sandboxes/${sandbox_id}/rollback`, { snapshot: id });
  },
  setSandboxEgress: async (world) => call("PUT", await sandbox(world, "/egress"), { mode: "deny_all" }),
  getSandboxEgress: async (world) => call("GET", await sandbox(world, "/egress")),
  execute: async (world) => call("POST", await sandbox(world, "/execute"), { command: "true" }),
  execInSandbox: async (world) => call("GET", await sandbox(world, "/exec")),
  forwardSandboxPort: async (world) => call("GET", await sandbox(world, `/forward?port=${FRIENDLY_PORT}`)),
  createSandboxExecution: async (world) =>
    call("POST", await sandbox(world, "/executions"), { command: "true" }),
  listSandboxExecutions: async (world) => call("GET", await sandbox(world, "/executions")),
  getSandboxExecution: async (world) => call("GET", await execution(world, await sandbox(world))),
  streamSandboxExecution: async (world) =>
    call("GET", await execution(world, await sandbox(world), "/stream", "true")),
  sendSandboxExecutionStdin: async (world) =>
    call("POST", await execution(world, await sandbox(world), "/stdin"), "x"),
  killSandboxExecution: async (world) =>
    call("POST", await execution(world, await sandbox(world), "/kill"), {}),
  uploadFile: async (world) => call("PUT", await sandbox(world, "/files/tmp/a"), "x"),
  downloadFile: async (world) => {
    const path = await sandbox(world, "/files/tmp/there");
    await world.call("PUT", path, { body: "x" });
    return call("GET", path);
  },
  listSandboxEvents: async (world) => call("GET", await sandbox(world, "/events")),
  getSandboxMetrics: async (world) => call("GET", await sandbox(world, "/metrics")),
  changeFile: async (world) => {
    const path = await sandbox(world, "/files/tmp/there");
    await world.call("PUT", path, { body: "x" });
    return call("PATCH", path, { mode: "0600" });
  },
  removeFile: async (world) => {
    const path = await sandbox(world, "/files/tmp/there");
    await world.call("PUT", path, { body: "x" });
    return call("DELETE", path);
  },
  statFile: async (world) => {
    const path = await sandbox(world, "/files/tmp/there");
    await world.call("PUT", path, { body: "x" });
    return call("GET", path.replace("/files/", "/stat/"));
  },
  downloadDirectory: async (world) => call("GET", await sandbox(world, "/archives/tmp")),
  uploadDirectory: async (world) => call("PUT", await sandbox(world, "/archives/tmp/into"), "x"),
  watchDirectory: async (world) => call("GET", await sandbox(world, "/watch/gone")),
  makeDirectory: async (world) => call("PUT", await sandbox(world, "/directories/tmp/made")),
  listSandboxPorts: async (world) => call("GET", await sandbox(world, "/ports")),
  setSandboxPortAccess: async (world) => call("PATCH", await sandbox(world, "/ports/3000"), { public: true }),
  signSandboxUrl: async (world) => call("POST", await sandbox(world, "/urls"), { port: 3000 }),
  requestSandboxPort: async (world) => call("GET", await sandbox(world, `/ports/${FRIENDLY_PORT}/`)),
  createMachine: async () => call("POST", "/v1/machines", { template: "base" }),
  listMachines: async () => call("GET", "/v1/machines"),
  getMachine: async (world) => call("GET", await machine(world)),
  destroyMachine: async (world) => call("DELETE", await machine(world)),
  startMachine: async (world) => {
    const path = await machine(world);
    await world.call("POST", `${path}/stop`);
    return call("POST", `${path}/start`);
  },
  stopMachine: async (world) => call("POST", await machine(world, "/stop")),
  restartMachine: async (world) => call("POST", await machine(world, "/restart")),
  listMachineRestarts: async (world) => call("GET", await machine(world, "/restarts")),
  getMachineLogs: async (world) => call("GET", await machine(world, "/logs?lines=5")),
  setMachineEgress: async (world) => call("PUT", await machine(world, "/egress"), { mode: "deny_all" }),
  getMachineEgress: async (world) => call("GET", await machine(world, "/egress")),
  executeInMachine: async (world) => call("POST", await machine(world, "/execute"), { command: "true" }),
  execInMachine: async (world) => call("GET", await machine(world, "/exec")),
  forwardMachinePort: async (world) => call("GET", await machine(world, `/forward?port=${FRIENDLY_PORT}`)),
  createMachineExecution: async (world) =>
    call("POST", await machine(world, "/executions"), { command: "true" }),
  listMachineExecutions: async (world) => call("GET", await machine(world, "/executions")),
  getMachineExecution: async (world) => call("GET", await execution(world, await machine(world))),
  streamMachineExecution: async (world) =>
    call("GET", await execution(world, await machine(world), "/stream", "true")),
  sendMachineExecutionStdin: async (world) =>
    call("POST", await execution(world, await machine(world), "/stdin"), "x"),
  killMachineExecution: async (world) =>
    call("POST", await execution(world, await machine(world), "/kill"), {}),
  uploadMachineFile: async (world) => call("PUT", await machine(world, "/files/tmp/a"), "x"),
  listMachineEvents: async (world) => call("GET", await machine(world, "/events")),
  getMachineMetrics: async (world) => call("GET", await machine(world, "/metrics")),
  changeMachineFile: async (world) => {
    const path = await machine(world, "/files/tmp/there");
    await world.call("PUT", path, { body: "x" });
    return call("PATCH", path, { mode: "0600" });
  },
  removeMachineFile: async (world) => {
    const path = await machine(world, "/files/tmp/there");
    await world.call("PUT", path, { body: "x" });
    return call("DELETE", path);
  },
  statMachineFile: async (world) => {
    const path = await machine(world, "/files/tmp/there");
    await world.call("PUT", path, { body: "x" });
    return call("GET", path.replace("/files/", "/stat/"));
  },
  downloadMachineDirectory: async (world) => call("GET", await machine(world, "/archives/tmp")),
  uploadMachineDirectory: async (world) => call("PUT", await machine(world, "/archives/tmp/into"), "x"),
  watchMachineDirectory: async (world) => call("GET", await machine(world, "/watch/gone")),
  makeMachineDirectory: async (world) => call("PUT", await machine(world, "/directories/tmp/made")),
  listMachinePorts: async (world) => call("GET", await machine(world, "/ports")),
  setMachinePortAccess: async (world) => call("PATCH", await machine(world, "/ports/3000"), { public: true }),
  signMachineUrl: async (world) => call("POST", await machine(world, "/urls"), { port: 3000 }),
  requestMachinePort: async (world) => call("GET", await machine(world, `/ports/${FRIENDLY_PORT}/`)),
  downloadMachineFile: async (world) => {
    const path = await machine(world, "/files/tmp/there");
    await world.call("PUT", path, { body: "x" });
    return call("GET", path);
  },
};

/** A machine that joins, and its request. Whoever goes through the calls lets go of the world, and of it with the world. */
async function joinRequest(world: World) {
  return (await JoiningHost.open(world)).request(await newJoinToken(world));
}

async function confirmation(world: World) {
  const host = await JoiningHost.open(world);
  return host.join(await newJoinToken(world));
}

async function machine(world: World, rest = ""): Promise<string> {
  return `/v1/machines/${(await world.createMachine({ name: newName() })).id}${rest}`;
}

/** The path of a new sandbox; it lives as long as its test does. */
async function sandbox(world: World, rest = ""): Promise<string> {
  return `/v1/sandboxes/${(await world.createSandbox({ timeout: "1h", name: newName() })).id}${rest}`;
}

/** In the VM at this path: one that reads, or one that has ended. */
async function execution(world: World, vm: string, rest = "", command = "repeat"): Promise<string> {
  const body = { command, stdin_open: true };
  const { id } = (await world.call<{ id: string }>("POST", `${vm}/executions`, { body })).body;
  return `${vm}/executions/${id}${rest}`;
}

async function snapshot(world: World): Promise<{ id: string; sandbox_id: string }> {
  const path = await sandbox(world, "/snapshots");
  return (await world.call<{ id: string; sandbox_id: string }>("POST", path, { body: {} })).body;
}

/** One that has ended, between a host and itself. */
async function move(world: World): Promise<string> {
  const [id, vm] = [newId("move"), newId("sandbox")];
  await sql`
    insert into moves (id, vm_id, from_host_id, to_host_id, from_execution_id, to_execution_id, ticket, vcpus, memory_mib, status)
    select ${id}, ${vm}, id, id, '', '', '', 1, 256, 'done' from hosts limit 1`.execute(world.db);
  return id;
}

async function persistent(world: World, rest = ""): Promise<string> {
  return `/v1/sandboxes/${(await world.createSandbox({ mode: "persistent", name: newName() })).id}${rest}`;
}

/** Two of the same name would be refused. */
function newName(): string {
  return `of a call ${randomUUID()}`;
}

async function hostPath(world: World, rest = ""): Promise<string> {
  const { body } = await world.call<{ items: { id: string }[] }>("GET", "/v1/hosts");
  return `/v1/hosts/${body.items[0]?.id}${rest}`;
}

async function member(world: World): Promise<string> {
  const { user_id } = await new Members(world).newMember("member");
  return `/v1/orgs/${world.orgId}/members/${user_id}`;
}
