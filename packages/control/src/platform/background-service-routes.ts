import { routes } from "../api/routes.ts";
import { backgroundServiceOperations } from "./background-service-operations.ts";
import { getBackgroundService, listBackgroundServices, runBackgroundService } from "./background-services.ts";

export const backgroundServiceRoutes = routes(backgroundServiceOperations, (context) => ({
  listBackgroundServices: async () => ({ items: await listBackgroundServices(context) }),
  getBackgroundService: (request) => getBackgroundService(context, request.params.name),
  runBackgroundService: (request) => runBackgroundService(context, request.params.name),
}));
