import type { OperationId } from "../../src/app/operations.ts";
import { expect } from "vitest";
import type { ClientCall } from "./client-call.ts";
import { vmClientCalls } from "./vm-client-calls.ts";

const vm = vmClientCalls("sandboxes");

export const sandboxClientCalls = {
  createSandbox: {
    sdk: ({ sandboxes }) => sandboxes.create({ template: "base" }),
    python: 'skerry.sandboxes.create(template="base")',
    cli: "sandbox create base --json",
  },
  listSandboxes: {
    sdk: ({ sandboxes }) => sandboxes.page(),
    python: "skerry.sandboxes.page()",
    cli: "sandbox list --json",
  },
  getSandbox: {
    sdk: ({ sandboxes }, { id }) => sandboxes.get(id),
    python: "skerry.sandboxes.get({id})",
    cli: "sandbox get {id} --json",
  },
  destroySandbox: {
    sdk: ({ sandboxes }, { id }) => sandboxes.destroy(id),
    python: "skerry.sandboxes.destroy({id})",
    cli: "sandbox destroy {id}",
    gives: { cli: expect.stringMatching(/^sbx_\w+ destroyed\n$/) },
  },
  updateSandbox: {
    sdk: ({ sandboxes }, { id }) => sandboxes.update(id, { metadata: { team: "b" }, auto_resume: false }),
    python: 'skerry.sandboxes.update({id}, {"metadata": {"team": "b"}, "auto_resume": False})',
    cli: "sandbox update {id} --metadata team=b --no-auto-resume --json",
  },
  keepSandboxAlive: {
    sdk: ({ sandboxes }, { id }) => sandboxes.keepalive(id, "20h"),
    python: 'skerry.sandboxes.keepalive({id}, timeout="20h")',
    cli: "sandbox keepalive {id} --timeout 20h --json",
  },
  pauseSandbox: {
    sdk: ({ sandboxes }, { id }) => sandboxes.pause(id),
    python: "skerry.sandboxes.pause({id})",
    cli: "sandbox pause {id} --json",
  },
  resumeSandbox: {
    sdk: ({ sandboxes }, { id }) => sandboxes.resume(id),
    python: "skerry.sandboxes.resume({id})",
    cli: "sandbox resume {id} --json",
  },
  createSnapshot: {
    sdk: ({ sandboxes }, { id }) => sandboxes.snapshot(id),
    python: "skerry.sandboxes.snapshot({id})",
    cli: "sandbox snapshot {id} --json",
  },
  listSnapshots: {
    cli: "snapshot list --json",
  },
  getSnapshot: {
    cli: "snapshot get {id}",
  },
  deleteSnapshot: {
    cli: "snapshot delete {id}",
    gives: { cli: expect.stringMatching(/^snp_\w+ deleted\n$/) },
  },
  forkSandbox: {
    sdk: ({ sandboxes }, { id }) => sandboxes.fork(id, 2),
    python: "skerry.sandboxes.fork({id}, count=2)",
    cli: "sandbox fork {id} --count 2 --json",
  },
  rollBackSandbox: {
    sdk: ({ sandboxes }, { id, said }) => sandboxes.rollback(id, said.snapshot),
    python: "skerry.sandboxes.rollback({id}, snapshot={said.snapshot})",
    cli: "sandbox rollback {id} {said.snapshot} --json",
  },
  listKeptExecutions: {
    cli: "runs list --json",
  },
  getKeptExecution: {
    sdk: ({ executions }, { id }) => executions.get(id),
    python: "skerry.executions.get({id})",
    cli: "runs show {id} --json",
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
} satisfies Partial<Readonly<Record<OperationId, ClientCall>>>;
