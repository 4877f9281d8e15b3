import { callerOf } from "../api/authenticate-hook.ts";
import { requestSignal } from "../api/request-signal.ts";
import { routes } from "../api/routes.ts";
import { RequestTiming } from "../http/request-timing.ts";
import { appOperations } from "./app-operations.ts";
import { deleteAppSecret, listAppSecrets, setAppSecret } from "./app-secrets.ts";
import { readAppFailures } from "./traffic/app-failures.ts";
import { readAppMetrics } from "./traffic/app-traffic.ts";
import { appVmOperations } from "./app-vm-operations.ts";
import { deleteOneOff, oneOffCreation } from "./instances/one-offs.ts";
import { appCreation, deleteApp, getApp, listAppsOf, updateApp } from "./apps.ts";
import { deleteRoute, listRoutesOf, routeCreation } from "./edge/edge-routes.ts";
import { cancelDeploy, deployCreation, getDeploy, listDeploysOf, listReleasesOf } from "./deploys/deploys.ts";

export const appVmRoutes = routes(appVmOperations, (context) => ({
  listAppSecrets: (request) => listAppSecrets(context, callerOf(request), request.params.id),
  setAppSecret: (request) =>
    setAppSecret(context, callerOf(request), { ...request.params, value: request.body.value }),
  deleteAppSecret: (request) => deleteAppSecret(context, callerOf(request), request.params),
  createOneOff: (request, reply) =>
    oneOffCreation(context, callerOf(request), {
      ...{ id: request.params.id, request: request.body, timing: new RequestTiming(reply) },
    }),
  deleteOneOff: async (request, reply) => {
    await deleteOneOff(context, callerOf(request), request.params);
    return reply.status(204).send();
  },
}));

export const appRoutes = routes(appOperations, (context) => ({
  createApp: (request) => appCreation(context, callerOf(request), request.body),
  listApps: (request) => listAppsOf(context, callerOf(request), request.query),
  getApp: (request) => getApp(context, callerOf(request), request.params.id),
  updateApp: (request) => updateApp(context, callerOf(request), request.params.id, request.body),
  deleteApp: (request) => deleteApp(context, callerOf(request), request.params.id),
  createDeploy: (request) =>
    deployCreation(context, callerOf(request), { id: request.params.id, request: request.body }),
  listDeploys: (request) =>
    listDeploysOf(context, callerOf(request), { id: request.params.id, page: request.query }),
  getDeploy: (request) => getDeploy(context, callerOf(request), request.params),
  cancelDeploy: (request) => cancelDeploy(context, callerOf(request), request.params),
  listAppFailures: (request, reply) =>
    readAppFailures(context, callerOf(request), {
      ...{ id: request.params.id, since: request.query.since, gone: requestSignal(reply) },
    }),
  getAppMetrics: (request) =>
    readAppMetrics(context, callerOf(request), { id: request.params.id, query: request.query }),
  createRoute: (request) =>
    routeCreation(context, callerOf(request), { id: request.params.id, request: request.body }),
  listRoutes: (request) => listRoutesOf(context, callerOf(request), request.params.id),
  deleteRoute: async (request, reply) => {
    await deleteRoute(context, callerOf(request), request.params);
    return reply.status(204).send();
  },
  listReleases: (request) => listReleasesOf(context, callerOf(request), request.params.id),
}));
