import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { cacheOperations } from "./cache-operations.ts";
import { clearCache, listCache } from "./cache.ts";

export const cacheRoutes = routes(cacheOperations, (context) => ({
  listCache: (request) => listCache(context, callerOf(request), request.query),
  clearCache: (request) => clearCache(context, callerOf(request)),
}));
