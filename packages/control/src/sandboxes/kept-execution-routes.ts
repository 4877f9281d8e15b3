import { callerOf } from "../api/authenticate-hook.ts";
import { requestSignal } from "../api/request-signal.ts";
import { routes } from "../api/routes.ts";
import { getKeptExecution, listKeptExecutions } from "../vms/executions/kept-executions.ts";
import { keptExecutionOperations } from "./kept-execution-operations.ts";
import { sandboxVms } from "./sandbox-vms.ts";

export const keptExecutionRoutes = routes(keptExecutionOperations, (context) => ({
  listKeptExecutions: (request) => listKeptExecutions(context, callerOf(request), request.query),
  getKeptExecution: (request, reply) =>
    getKeptExecution(context, callerOf(request), {
      kind: sandboxVms,
      id: request.params.id,
      encoding: request.query.encoding,
      gone: requestSignal(reply),
    }),
}));
