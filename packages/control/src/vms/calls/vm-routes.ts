// The routes of `vmOperations`, under the ids that one kind's have in the API's document.

import { renamed, routes, type Renamed, type Routes } from "../../api/routes.ts";
import { getEgressHandler, setEgressHandler } from "../egress/egress-routes.ts";
import { listEventsHandler } from "../events/event-routes.ts";
import { execHandler } from "../exec/exec-routes.ts";
import { executeHandler } from "../execute/execute-routes.ts";
import {
  createExecutionHandler,
  getExecutionHandler,
  killExecutionHandler,
  listExecutionsHandler,
  sendExecutionStdinHandler,
  streamExecutionHandler,
} from "../executions/execution-routes.ts";
import {
  changeFileHandler,
  downloadFileHandler,
  makeDirectoryHandler,
  packDirectoryHandler,
  removeFileHandler,
  statFileHandler,
  unpackArchiveHandler,
  uploadFileHandler,
} from "../files/file-routes.ts";
import { forwardPortHandler } from "../forward/forward-routes.ts";
import { getVmMetricsHandler } from "../metrics/metrics-routes.ts";
import { listPortsHandler, requestPortHandler, setPortAccessHandler } from "../ports/port-routes.ts";
import { signUrlHandler } from "../signed-urls/url-routes.ts";
import type { VmKind } from "../vm-kind.ts";
import { watchHandler } from "../watches/watch-routes.ts";
import { vmOperations, type VmOperations } from "./vm-operations.ts";

/** The id of each operation in the document. */
export type VmOperationIds = Readonly<Record<keyof VmOperations, string>>;

export function vmRoutes<const Ids extends VmOperationIds>(
  kind: VmKind,
  ids: Ids,
): Routes<Renamed<VmOperations, Ids>> {
  const ofKind = routes(vmOperations(kind), (context) => ({
    execute: executeHandler(context, kind),
    exec: execHandler(context, kind),
    forwardPort: forwardPortHandler(context, kind),
    createExecution: createExecutionHandler(context, kind),
    listExecutions: listExecutionsHandler(context, kind),
    getExecution: getExecutionHandler(context, kind),
    streamExecution: streamExecutionHandler(context, kind),
    sendExecutionStdin: sendExecutionStdinHandler(context, kind),
    killExecution: killExecutionHandler(context, kind),
    uploadFile: uploadFileHandler(context, kind),
    downloadFile: downloadFileHandler(context, kind),
    changeFile: changeFileHandler(context, kind),
    removeFile: removeFileHandler(context, kind),
    statFile: statFileHandler(context, kind),
    makeDirectory: makeDirectoryHandler(context, kind),
    watchDirectory: watchHandler(context, kind),
    downloadDirectory: packDirectoryHandler(context, kind),
    uploadDirectory: unpackArchiveHandler(context, kind),
    getEgress: getEgressHandler(context, kind),
    setEgress: setEgressHandler(context, kind),
    listEvents: listEventsHandler(context, kind),
    getMetrics: getVmMetricsHandler(context, kind),
    listPorts: listPortsHandler(context, kind),
    setPortAccess: setPortAccessHandler(context, kind),
    requestPort: requestPortHandler(context, kind),
    signUrl: signUrlHandler(context, kind),
  }));
  return renamed(ofKind, ids);
}
