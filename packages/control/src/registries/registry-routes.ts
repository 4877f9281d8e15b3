import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { deleteRegistryCredential, listRegistryCredentials, setRegistryCredential } from "./registries.ts";
import { registryOperations } from "./registry-operations.ts";

export const registryRoutes = routes(registryOperations, (context) => ({
  listRegistryCredentials: (request) => listRegistryCredentials(context, callerOf(request)),
  setRegistryCredential: (request) =>
    setRegistryCredential(context, callerOf(request), { host: request.params.host, ...request.body }),
  deleteRegistryCredential: (request) =>
    deleteRegistryCredential(context, callerOf(request), request.params.host),
}));
