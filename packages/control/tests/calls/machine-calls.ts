import type { World } from "../support/world.ts";
import { call, newName, type Prepare } from "./call.ts";
import { vmCalls } from "./vm-calls.ts";

const vm = vmCalls(machine);

export const machineCalls = {
  createMachine: async () => call("POST", "/v1/machines", { template: "base" }),
  getMachine: async (world) => call("GET", await machine(world)),
  updateMachine: async (world) =>
    call("PATCH", await machine(world), {
      metadata: { team: "b" },
      size: "shared-cpu-2x",
      restart_now: true,
    }),
  destroyMachine: async (world) => call("DELETE", await machine(world)),
  startMachine: async (world) => {
    const path = await machine(world);
    await world.call("POST", `${path}/stop`);
    return call("POST", `${path}/start`);
  },
  stopMachine: async (world) => call("POST", await machine(world, "/stop")),
  restartMachine: async (world) => call("POST", await machine(world, "/restart")),
  listMachineRestarts: async (world) => call("GET", await machine(world, "/restarts")),
  getMachineLogs: async (world) => {
    const path = await machine(world);
    world.host.console.print(path.replace(/.*\//, ""), "it prints\n");
    return call("GET", `${path}/logs?lines=5`);
  },
  createMachineSnapshot: async (world) => call("POST", await machine(world, "/snapshots"), {}),
  forkMachine: async (world) => call("POST", await machine(world, "/fork"), { count: 2 }),
  rollBackMachine: async (world) => {
    const path = await machine(world);
    const { body } = await world.call<{ id: string }>("POST", `${path}/snapshots`, { body: {} });
    return call("POST", `${path}/rollback`, { snapshot: body.id });
  },
  setMachineEgress: vm.setEgress,
  getMachineEgress: vm.getEgress,
  executeInMachine: vm.execute,
  execInMachine: vm.exec,
  forwardMachinePort: vm.forwardPort,
  createMachineExecution: vm.createExecution,
  listMachineExecutions: vm.listExecutions,
  getMachineExecution: vm.getExecution,
  streamMachineExecution: vm.streamExecution,
  sendMachineExecutionStdin: vm.sendExecutionStdin,
  killMachineExecution: vm.killExecution,
  uploadMachineFile: vm.uploadFile,
  downloadMachineFile: vm.downloadFile,
  listMachineEvents: vm.listEvents,
  getMachineMetrics: vm.getMetrics,
  changeMachineFile: vm.changeFile,
  removeMachineFile: vm.removeFile,
  statMachineFile: vm.statFile,
  downloadMachineDirectory: vm.downloadDirectory,
  uploadMachineDirectory: vm.uploadDirectory,
  watchMachineDirectory: vm.watchDirectory,
  makeMachineDirectory: vm.makeDirectory,
  listMachinePorts: vm.listPorts,
  setMachinePortAccess: vm.setPortAccess,
  signMachineUrl: vm.signUrl,
  requestMachinePort: vm.requestPort,
} satisfies Readonly<Record<string, Prepare>>;

async function machine(world: World, rest = ""): Promise<string> {
  return `/v1/machines/${(await world.createMachine({ name: newName() })).id}${rest}`;
}
