import { routes } from "../api/routes.ts";
import { drainOperations } from "./drain-operations.ts";
import { activateHost, drainHost } from "./drain-host.ts";

export const drainRoutes = routes(drainOperations, (context) => ({
  drainHost: (request) => drainHost(context, request.params.id),
  activateHost: (request) => activateHost(context, request.params.id),
}));
