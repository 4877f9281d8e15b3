import type { OperationId } from "../../src/app/operations.ts";
import { expect } from "vitest";
import type { ClientCall } from "./client-call.ts";
import { vmClientCalls } from "./vm-client-calls.ts";

const vm = vmClientCalls("machines");

export const machineClientCalls = {
  createMachine: {
    sdk: ({ machines }) => machines.create({ template: "base" }),
    python: 'skerry.machines.create(template="base")',
    cli: "machine create base --json",
  },
  listMachines: {
    sdk: ({ machines }) => machines.page(),
    python: "skerry.machines.page()",
    cli: "machine list --json",
  },
  getMachine: {
    sdk: ({ machines }, { id }) => machines.get(id),
    python: "skerry.machines.get({id})",
    cli: "machine show {id} --json",
  },
  updateMachine: {
    sdk: ({ machines }, { id }) =>
      machines.update(id, { metadata: { team: "b" }, size: "shared-cpu-2x", restart_now: true }),
    python:
      'skerry.machines.update({id}, {"metadata": {"team": "b"}, "size": "shared-cpu-2x", "restart_now": True})',
    cli: "machine update {id} --metadata team=b --size shared-cpu-2x --restart-now --json",
  },
  destroyMachine: {
    sdk: ({ machines }, { id }) => machines.destroy(id),
    python: "skerry.machines.destroy({id})",
    cli: "machine destroy {id}",
    gives: { cli: expect.stringMatching(/^mch_\w+ destroyed\n$/) },
  },
  startMachine: {
    sdk: ({ machines }, { id }) => machines.start(id),
    python: "skerry.machines.start({id})",
    cli: "machine start {id} --json",
  },
  stopMachine: {
    sdk: ({ machines }, { id }) => machines.stop(id),
    python: "skerry.machines.stop({id})",
    cli: "machine stop {id} --json",
  },
  restartMachine: {
    sdk: ({ machines }, { id }) => machines.restart(id),
    python: "skerry.machines.restart({id})",
    cli: "machine restart {id} --json",
  },
  listMachineRestarts: {
    sdk: ({ machines }, { id }) => machines.restarts(id),
    python: "skerry.machines.restarts({id})",
    cli: "machine restarts {id} --json",
  },
  getMachineLogs: {
    sdk: ({ machines }, { id }) => machines.logs(id, { lines: 5, grep: "prints" }),
    python: "skerry.machines.logs({id}, lines=5, grep='prints')",
    cli: "machine logs {id} --lines 5 --grep prints --json",
    gives: { sdk: ["it prints"], python: ["it prints"] },
  },
  createMachineSnapshot: {
    sdk: ({ machines }, { id }) => machines.snapshot(id),
    python: "skerry.machines.snapshot({id})",
    cli: "machine snapshot {id} --json",
  },
  forkMachine: {
    sdk: ({ machines }, { id }) => machines.fork(id, 2),
    python: "skerry.machines.fork({id}, count=2)",
    cli: "machine fork {id} --count 2 --json",
  },
  rollBackMachine: {
    sdk: ({ machines }, { id, said }) => machines.rollback(id, said.snapshot),
    python: "skerry.machines.rollback({id}, snapshot={said.snapshot})",
    cli: "machine rollback {id} {said.snapshot} --json",
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
} satisfies Partial<Readonly<Record<OperationId, ClientCall>>>;
