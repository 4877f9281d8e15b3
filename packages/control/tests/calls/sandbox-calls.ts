import type { World } from "../support/world.ts";
import { call, newName, type Prepare } from "./call.ts";
import { vmCalls } from "./vm-calls.ts";

const vm = vmCalls(sandbox);

export const sandboxCalls = {
  createSandbox: async () => call("POST", "/v1/sandboxes", { template: "base" }),
  getSandbox: async (world) => call("GET", await sandbox(world)),
  destroySandbox: async (world) => call("DELETE", await sandbox(world)),
  updateSandbox: async (world) =>
    call("PATCH", await sandbox(world), { metadata: { team: "b" }, auto_resume: false }),
  keepSandboxAlive: async (world) => call("POST", await sandbox(world, "/keepalive"), { timeout: "20h" }),
  pauseSandbox: async (world) => call("POST", await persistent(world, "/pause")),
  resumeSandbox: async (world) => {
    const path = await persistent(world);
    await world.call("POST", `${path}/pause`);
    return call("POST", `${path}/resume`);
  },
  createSnapshot: async (world) => call("POST", await sandbox(world, "/snapshots"), {}),
  getSnapshot: async (world) => call("GET", `/v1/snapshots/${(await snapshot(world)).id}`),
  deleteSnapshot: async (world) => call("DELETE", `/v1/snapshots/${(await snapshot(world)).id}`),
  forkSandbox: async (world) => call("POST", await sandbox(world, "/fork"), { count: 2 }),
  rollBackSandbox: async (world) => {
    const { id, sandbox_id } = await snapshot(world);
    return call("POST", `/v1/sandboxes/${sandbox_id}/rollback`, { snapshot: id });
  },
  getKeptExecution: async (world) => {
    const body = { command: "true", keep_output: true };
    const path = await sandbox(world, "/executions");
    const { id } = (await world.call<{ id: string }>("POST", path, { body })).body;
    return call("GET", `/v1/executions/${id}`);
  },
  setSandboxEgress: vm.setEgress,
  getSandboxEgress: vm.getEgress,
  execute: vm.execute,
  execInSandbox: vm.exec,
  forwardSandboxPort: vm.forwardPort,
  createSandboxExecution: vm.createExecution,
  listSandboxExecutions: vm.listExecutions,
  getSandboxExecution: vm.getExecution,
  streamSandboxExecution: vm.streamExecution,
  sendSandboxExecutionStdin: vm.sendExecutionStdin,
  killSandboxExecution: vm.killExecution,
  uploadFile: vm.uploadFile,
  downloadFile: vm.downloadFile,
  listSandboxEvents: vm.listEvents,
  getSandboxMetrics: vm.getMetrics,
  changeFile: vm.changeFile,
  removeFile: vm.removeFile,
  statFile: vm.statFile,
  downloadDirectory: vm.downloadDirectory,
  uploadDirectory: vm.uploadDirectory,
  watchDirectory: vm.watchDirectory,
  makeDirectory: vm.makeDirectory,
  listSandboxPorts: vm.listPorts,
  setSandboxPortAccess: vm.setPortAccess,
  signSandboxUrl: vm.signUrl,
  requestSandboxPort: vm.requestPort,
} satisfies Readonly<Record<string, Prepare>>;

async function snapshot(world: World): Promise<{ id: string; sandbox_id: string }> {
  const path = await sandbox(world, "/snapshots");
  return (await world.call<{ id: string; sandbox_id: string }>("POST", path, { body: {} })).body;
}

async function persistent(world: World, rest = ""): Promise<string> {
  return `/v1/sandboxes/${(await world.createSandbox({ mode: "persistent", name: newName() })).id}${rest}`;
}

/** The path of a new sandbox; it lives as long as its test does. */
async function sandbox(world: World, rest = ""): Promise<string> {
  return `/v1/sandboxes/${(await world.createSandbox({ timeout: "1h", name: newName() })).id}${rest}`;
}
