import type { FastifyReply } from "fastify";
import type { Machine } from "@skerry/contract/machines/machine";
import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { RequestTiming } from "../http/request-timing.ts";
import { withMetadataFilter } from "../http/metadata-filter.ts";
import { vmRoutes } from "../vms/calls/vm-routes.ts";
import { machineCreation } from "./machine-creation.ts";
import { destroyMachine } from "./destroy-machine.ts";
import { machineOperations, machinePowerOperations } from "./machine-operations.ts";
import { carryOutPowerAction } from "./machine-power-actions.ts";
import { getMachine, listMachinesOf, machineFor, machineVms } from "./machines.ts";
import { listMachineRestarts } from "./machine-restarts.ts";
import type { MachineRow } from "./machine-store.ts";
import { updateMachine } from "./update-machine.ts";

export const machineRoutes = routes(machineOperations, (context) => ({
  // A client that goes away stops nothing: the row holds the desired state, and the reconciler carries it out.
  createMachine: (request, reply) =>
    machineCreation(context, callerOf(request), { request: request.body, timing: new RequestTiming(reply) }),
  listMachines: (request) => listMachinesOf(context, callerOf(request), withMetadataFilter(request.query)),
  getMachine: async (request) => {
    const caller = callerOf(request);
    return machineFor(caller, await getMachine(context, caller, request.params.id));
  },
  updateMachine: async (request, reply) => {
    const caller = callerOf(request);
    const { params, body } = request;
    const row = await updateMachine(context, caller, { id: params.id, request: body });
    const isToRestart = body.restart_now === true && row.pending !== null && row.desired === "running";
    void reply.code(isToRestart ? 202 : 200);
    return machineFor(caller, row);
  },
  destroyMachine: (request) => destroyMachine(context, callerOf(request), request.params.id),
}));

export const machinePowerRoutes = routes(machinePowerOperations, (context) => ({
  listMachineRestarts: (request) =>
    listMachineRestarts(context, callerOf(request), { id: request.params.id, page: request.query }),
  startMachine: async (request, reply) => {
    const params = { id: request.params.id, act: "start", newDisk: request.body.new_disk ?? false } as const;
    return settled("running", await carryOutPowerAction(context, callerOf(request), params), reply);
  },
  stopMachine: async (request, reply) => {
    const params = { id: request.params.id, act: "stop" } as const;
    return settled("stopped", await carryOutPowerAction(context, callerOf(request), params), reply);
  },
  restartMachine: async (request, reply) => {
    const params = { id: request.params.id, act: "restart" } as const;
    return settled("running", await carryOutPowerAction(context, callerOf(request), params), reply);
  },
}));

/** 200 where nothing is left to do, otherwise 202. */
function settled(status: "running" | "stopped", row: MachineRow, reply: FastifyReply): Machine {
  void reply.code(row.status === status && row.desired === status ? 200 : 202);
  return machineFor(callerOf(reply.request), row);
}

export const machineVmRoutes = vmRoutes(machineVms, {
  setEgress: "setMachineEgress",
  getEgress: "getMachineEgress",
  execute: "executeInMachine",
  exec: "execInMachine",
  forwardPort: "forwardMachinePort",
  createExecution: "createMachineExecution",
  listExecutions: "listMachineExecutions",
  getExecution: "getMachineExecution",
  streamExecution: "streamMachineExecution",
  sendExecutionStdin: "sendMachineExecutionStdin",
  killExecution: "killMachineExecution",
  uploadFile: "uploadMachineFile",
  downloadFile: "downloadMachineFile",
  listEvents: "listMachineEvents",
  getMetrics: "getMachineMetrics",
  changeFile: "changeMachineFile",
  removeFile: "removeMachineFile",
  statFile: "statMachineFile",
  makeDirectory: "makeMachineDirectory",
  watchDirectory: "watchMachineDirectory",
  downloadDirectory: "downloadMachineDirectory",
  uploadDirectory: "uploadMachineDirectory",
  listPorts: "listMachinePorts",
  setPortAccess: "setMachinePortAccess",
  requestPort: "requestMachinePort",
  signUrl: "signMachineUrl",
});
