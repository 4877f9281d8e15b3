import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { describeCaller } from "./organizations.ts";
import { tokenOperations } from "./token-operations.ts";
import { anyTokenCreation } from "./member-tokens.ts";
import { listTokensOf, revoke } from "./tokens.ts";

export const tokenRoutes = routes(tokenOperations, (context) => ({
  createToken: (request) => anyTokenCreation(context, callerOf(request), request.body),
  listTokens: (request) => listTokensOf(context, callerOf(request), request.query),
  revokeToken: (request) => revoke(context, callerOf(request), request.params.id),
  getMe: (request) => describeCaller(context, callerOf(request)),
}));
