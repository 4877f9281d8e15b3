import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { sandboxFork } from "./fork-sandbox.ts";
import { rollBackSandbox } from "./rollback-sandbox.ts";
import { sandboxSnapshot } from "./sandbox-snapshot.ts";
import { sandboxSnapshotOperations } from "./sandbox-snapshot-operations.ts";
import { sandboxFor } from "./sandboxes.ts";

export const sandboxSnapshotRoutes = routes(sandboxSnapshotOperations, (context) => ({
  createSnapshot: (request) =>
    sandboxSnapshot(context, callerOf(request), { id: request.params.id, name: request.body.name }),
  forkSandbox: (request) =>
    sandboxFork(context, callerOf(request), { id: request.params.id, count: request.body.count ?? 1 }),
  rollBackSandbox: async (request) => {
    const caller = callerOf(request);
    const params = { id: request.params.id, snapshot: request.body.snapshot };
    return sandboxFor(caller, await rollBackSandbox(context, caller, params));
  },
}));
