import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { secretOperations } from "./secret-operations.ts";
import {
  deleteSecret,
  getSecret,
  listSecrets,
  ofOrganization,
  rollBackSecret,
  setSecret,
} from "./secrets.ts";

export const secretRoutes = routes(secretOperations, (context) => ({
  listSecrets: (request) => listSecrets(context, ofOrganization(callerOf(request))),
  getSecret: (request) => getSecret(context, ofOrganization(callerOf(request)), request.params.name),
  setSecret: (request) => {
    const caller = callerOf(request);
    const value = { name: request.params.name, value: request.body.value };
    return setSecret(context, ofOrganization(caller), value, caller.userId);
  },
  rollBackSecret: (request) => {
    const caller = callerOf(request);
    const wanted = { name: request.params.name, version: request.body.version };
    return rollBackSecret(context, ofOrganization(caller), wanted, caller.userId);
  },
  deleteSecret: (request) => deleteSecret(context, ofOrganization(callerOf(request)), request.params.name),
}));
