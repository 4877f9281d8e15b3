import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { RequestTiming } from "../http/request-timing.ts";
import { withMetadataFilter } from "../http/metadata-filter.ts";
import { getEgressHandler, setEgressHandler } from "../vms/egress/egress-routes.ts";
import { execHandler } from "../vms/exec/exec-routes.ts";
import { forwardPortHandler } from "../vms/forward/forward-routes.ts";
import { listEventsHandler } from "../vms/events/event-routes.ts";
import { executeHandler } from "../vms/execute/execute-routes.ts";
import {
  createExecutionHandler,
  getExecutionHandler,
  killExecutionHandler,
  listExecutionsHandler,
  sendExecutionStdinHandler,
  streamExecutionHandler,
} from "../vms/executions/execution-routes.ts";
import { getVmMetricsHandler } from "../vms/metrics/metrics-routes.ts";
import { listPortsHandler, requestPortHandler, setPortAccessHandler } from "../vms/ports/port-routes.ts";
import { signUrlHandler } from "../vms/signed-urls/url-routes.ts";
import { watchHandler } from "../vms/watches/watch-routes.ts";
import {
  changeFileHandler,
  downloadFileHandler,
  makeDirectoryHandler,
  packDirectoryHandler,
  removeFileHandler,
  statFileHandler,
  unpackArchiveHandler,
  uploadFileHandler,
} from "../vms/files/file-routes.ts";
import { pauseSandbox } from "./pause-sandbox.ts";
import { resumeSandbox } from "./resume-sandbox.ts";
import { sandboxCreation } from "./sandbox-creation.ts";
import { destroySandbox } from "./destroy-sandbox.ts";
import { sandboxOperations, sandboxVmOperations } from "./sandbox-operations.ts";
import { getSandbox, keepAlive, listSandboxesOf, sandboxFor } from "./sandboxes.ts";
import { sandboxVms } from "./sandbox-vms.ts";
import { updateSandbox } from "./update-sandbox.ts";

export const sandboxRoutes = routes(sandboxOperations, (context) => ({
  // A client that goes away stops nothing: the row holds the desired state, and the reconciler carries it out.
  createSandbox: (request, reply) =>
    sandboxCreation(context, callerOf(request), { request: request.body, timing: new RequestTiming(reply) }),
  listSandboxes: (request) => listSandboxesOf(context, callerOf(request), withMetadataFilter(request.query)),
  getSandbox: async (request) => {
    const caller = callerOf(request);
    return sandboxFor(caller, await getSandbox(context, caller, request.params.id));
  },
  updateSandbox: async (request) => {
    const caller = callerOf(request);
    return sandboxFor(
      caller,
      await updateSandbox(context, caller, { id: request.params.id, request: request.body }),
    );
  },
  destroySandbox: (request) => destroySandbox(context, callerOf(request), request.params.id),
  keepSandboxAlive: (request) =>
    keepAlive(context, callerOf(request), { id: request.params.id, timeout: request.body.timeout }),
  pauseSandbox: async (request) => {
    const caller = callerOf(request);
    return sandboxFor(caller, await pauseSandbox(context, caller, request.params.id));
  },
  resumeSandbox: async (request) => {
    const caller = callerOf(request);
    return sandboxFor(
      caller,
      await resumeSandbox(context, caller, { id: request.params.id, why: "by request" }),
    );
  },
}));

export const sandboxVmRoutes = routes(sandboxVmOperations, (context) => ({
  setSandboxEgress: setEgressHandler(context, sandboxVms),
  getSandboxEgress: getEgressHandler(context, sandboxVms),
  execute: executeHandler(context, sandboxVms),
  execInSandbox: execHandler(context, sandboxVms),
  forwardSandboxPort: forwardPortHandler(context, sandboxVms),
  createSandboxExecution: createExecutionHandler(context, sandboxVms),
  listSandboxExecutions: listExecutionsHandler(context, sandboxVms),
  getSandboxExecution: getExecutionHandler(context, sandboxVms),
  streamSandboxExecution: streamExecutionHandler(context, sandboxVms),
  sendSandboxExecutionStdin: sendExecutionStdinHandler(context, sandboxVms),
  killSandboxExecution: killExecutionHandler(context, sandboxVms),
  uploadFile: uploadFileHandler(context, sandboxVms),
  downloadFile: downloadFileHandler(context, sandboxVms),
  listSandboxEvents: listEventsHandler(context, sandboxVms),
  getSandboxMetrics: getVmMetricsHandler(context, sandboxVms),
  changeFile: changeFileHandler(context, sandboxVms),
  removeFile: removeFileHandler(context, sandboxVms),
  statFile: statFileHandler(context, sandboxVms),
  makeDirectory: makeDirectoryHandler(context, sandboxVms),
  watchDirectory: watchHandler(context, sandboxVms),
  downloadDirectory: packDirectoryHandler(context, sandboxVms),
  uploadDirectory: unpackArchiveHandler(context, sandboxVms),
  listSandboxPorts: listPortsHandler(context, sandboxVms),
  setSandboxPortAccess: setPortAccessHandler(context, sandboxVms),
  requestSandboxPort: requestPortHandler(context, sandboxVms),
  signSandboxUrl: signUrlHandler(context, sandboxVms),
}));
