import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { RequestTiming } from "../http/request-timing.ts";
import { withMetadataFilter } from "../http/metadata-filter.ts";
import { vmRoutes } from "../vms/calls/vm-routes.ts";
import { pauseSandbox } from "./pause-sandbox.ts";
import { resumeSandbox } from "./resume-sandbox.ts";
import { sandboxCreation } from "./sandbox-creation.ts";
import { destroySandbox } from "./destroy-sandbox.ts";
import { sandboxOperations } from "./sandbox-operations.ts";
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

export const sandboxVmRoutes = vmRoutes(sandboxVms, {
  setEgress: "setSandboxEgress",
  getEgress: "getSandboxEgress",
  execute: "execute",
  exec: "execInSandbox",
  forwardPort: "forwardSandboxPort",
  createExecution: "createSandboxExecution",
  listExecutions: "listSandboxExecutions",
  getExecution: "getSandboxExecution",
  streamExecution: "streamSandboxExecution",
  sendExecutionStdin: "sendSandboxExecutionStdin",
  killExecution: "killSandboxExecution",
  uploadFile: "uploadFile",
  downloadFile: "downloadFile",
  listEvents: "listSandboxEvents",
  getMetrics: "getSandboxMetrics",
  changeFile: "changeFile",
  removeFile: "removeFile",
  statFile: "statFile",
  makeDirectory: "makeDirectory",
  watchDirectory: "watchDirectory",
  downloadDirectory: "downloadDirectory",
  uploadDirectory: "uploadDirectory",
  listPorts: "listSandboxPorts",
  setPortAccess: "setSandboxPortAccess",
  requestPort: "requestSandboxPort",
  signUrl: "signSandboxUrl",
});
