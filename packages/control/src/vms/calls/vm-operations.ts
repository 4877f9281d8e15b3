// Calls into a microVM: one list for all kinds, whatever owns the microVM.

import type { Operations } from "../../api/operation.ts";
import { getEgressOperation, setEgressOperation } from "../egress/egress-operations.ts";
import { listEventsOperation } from "../events/event-operations.ts";
import { execOperation } from "../exec/exec-operations.ts";
import { executeOperation } from "../execute/execute-operations.ts";
import {
  createExecutionOperation,
  getExecutionOperation,
  killExecutionOperation,
  listExecutionsOperation,
  sendExecutionStdinOperation,
  streamExecutionOperation,
} from "../executions/execution-operations.ts";
import {
  changeFileOperation,
  downloadFileOperation,
  makeDirectoryOperation,
  packDirectoryOperation,
  removeFileOperation,
  statFileOperation,
  unpackArchiveOperation,
  uploadFileOperation,
} from "../files/file-operations.ts";
import { forwardPortOperation } from "../forward/forward-operations.ts";
import { getVmMetricsOperation } from "../metrics/metrics-operations.ts";
import {
  listPortsOperation,
  requestPortOperation,
  setPortAccessOperation,
} from "../ports/port-operations.ts";
import { signUrlOperation } from "../signed-urls/url-operations.ts";
import type { VmKind } from "../vm-kind.ts";
import { watchOperation } from "../watches/watch-operations.ts";

export function vmOperations(kind: VmKind) {
  return {
    execute: executeOperation(kind),
    exec: execOperation(kind),
    forwardPort: forwardPortOperation(kind),
    createExecution: createExecutionOperation(kind),
    listExecutions: listExecutionsOperation(kind),
    getExecution: getExecutionOperation(kind),
    streamExecution: streamExecutionOperation(kind),
    sendExecutionStdin: sendExecutionStdinOperation(kind),
    killExecution: killExecutionOperation(kind),
    uploadFile: uploadFileOperation(kind),
    downloadFile: downloadFileOperation(kind),
    changeFile: changeFileOperation(kind),
    removeFile: removeFileOperation(kind),
    statFile: statFileOperation(kind),
    makeDirectory: makeDirectoryOperation(kind),
    watchDirectory: watchOperation(kind),
    downloadDirectory: packDirectoryOperation(kind),
    uploadDirectory: unpackArchiveOperation(kind),
    getEgress: getEgressOperation(kind),
    setEgress: setEgressOperation(kind),
    listEvents: listEventsOperation(kind),
    getMetrics: getVmMetricsOperation(kind),
    listPorts: listPortsOperation(kind),
    setPortAccess: setPortAccessOperation(kind),
    requestPort: requestPortOperation(kind),
    signUrl: signUrlOperation(kind),
  } as const satisfies Operations;
}

export type VmOperations = ReturnType<typeof vmOperations>;
