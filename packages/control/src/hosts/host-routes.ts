import { routes } from "../api/routes.ts";
import { hostOperations } from "./host-operations.ts";
import { removeHost } from "./remove-host.ts";
import { getHost, listHosts } from "./hosts.ts";

export const hostRoutes = routes(hostOperations, (context) => ({
  listHosts: (request) => listHosts(context, request.query),
  getHost: (request) => getHost(context, request.params.id),
  removeHost: ({ params, query }) => removeHost(context, params.id, { force: query.force === true }),
}));
