import { FRIENDLY_PORT } from "../support/fake-ports.ts";
import type { World } from "../support/world.ts";
import { call, type Prepare } from "./call.ts";

/** Calls that sandboxes and machines have alike. `vm` makes one, and resolves with its path and the rest. */
export function vmCalls(vm: (world: World, rest?: string) => Promise<string>) {
  return { ...inVm(vm), ...filesOf(vm) } satisfies Readonly<Record<string, Prepare>>;
}

function inVm(vm: (world: World, rest?: string) => Promise<string>) {
  const executionIn = async (world: World, rest = "", command?: string) =>
    execution(world, await vm(world), rest, command);
  return {
    setEgress: async (world: World) => call("PUT", await vm(world, "/egress"), { mode: "deny_all" }),
    getEgress: async (world: World) => call("GET", await vm(world, "/egress")),
    execute: async (world: World) => call("POST", await vm(world, "/execute"), { command: "true" }),
    exec: async (world: World) => call("GET", await vm(world, "/exec")),
    createExecution: async (world: World) =>
      call("POST", await vm(world, "/executions"), { command: "true" }),
    listExecutions: async (world: World) =>
      call("GET", (await executionIn(world)).replace(/\/executions\/.*/, "/executions")),
    getExecution: async (world: World) => call("GET", await executionIn(world)),
    streamExecution: async (world: World) => call("GET", await executionIn(world, "/stream", "true")),
    sendExecutionStdin: async (world: World) => call("POST", await executionIn(world, "/stdin"), "x"),
    killExecution: async (world: World) => call("POST", await executionIn(world, "/kill"), {}),
    listEvents: async (world: World) => call("GET", await vm(world, "/events")),
    getMetrics: async (world: World) => call("GET", await vm(world, "/metrics")),
    forwardPort: async (world: World) => call("GET", await vm(world, `/forward?port=${FRIENDLY_PORT}`)),
    listPorts: async (world: World) => call("GET", await vm(world, "/ports")),
    setPortAccess: async (world: World) => call("PATCH", await vm(world, "/ports/3000"), { public: true }),
    signUrl: async (world: World) => call("POST", await vm(world, "/urls"), { port: 3000 }),
    requestPort: async (world: World) => call("GET", await vm(world, `/ports/${FRIENDLY_PORT}/`)),
  };
}

function filesOf(vm: (world: World, rest?: string) => Promise<string>) {
  const file = async (world: World) => {
    const path = await vm(world, "/files/tmp/there");
    await world.call("PUT", path, { body: "x" });
    return path;
  };
  return {
    uploadFile: async (world: World) => call("PUT", await vm(world, "/files/tmp/a"), "x"),
    downloadFile: async (world: World) => call("GET", await file(world)),
    changeFile: async (world: World) => call("PATCH", await file(world), { mode: "0600" }),
    removeFile: async (world: World) => call("DELETE", await file(world)),
    statFile: async (world: World) => call("GET", (await file(world)).replace("/files/", "/stat/")),
    downloadDirectory: async (world: World) => {
      const path = await vm(world, "/archives/tmp/there");
      await world.call("PUT", path, { body: "x" });
      return call("GET", path);
    },
    uploadDirectory: async (world: World) => call("PUT", await vm(world, "/archives/tmp/into"), "x"),
    watchDirectory: async (world: World) => call("GET", await vm(world, "/watch/gone")),
    makeDirectory: async (world: World) => call("PUT", await vm(world, "/directories/tmp/made")),
  };
}

/** In the VM at this path: one that reads, or one that has ended. */
async function execution(world: World, vm: string, rest = "", command = "repeat"): Promise<string> {
  const body = { command, stdin_open: true };
  const { id } = (await world.call<{ id: string }>("POST", `${vm}/executions`, { body })).body;
  return `${vm}/executions/${id}${rest}`;
}
