import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { sandboxFork } from "./fork-sandbox.ts";
import { vmSnapshot } from "../snapshots/vm-snapshot.ts";
import { resumeSandbox } from "./resume-sandbox.ts";
import { rollBackSandbox } from "./rollback-sandbox.ts";
import { sandboxSnapshotOperations } from "./sandbox-snapshot-operations.ts";
import { sandboxVms } from "./sandbox-vms.ts";
import { sandboxFor } from "./sandboxes.ts";

export const sandboxSnapshotRoutes = routes(sandboxSnapshotOperations, (context) => ({
  createSnapshot: (request) => {
    const caller = callerOf(request);
    const { id } = request.params;
    const running = () => resumeSandbox(context, caller, { id, why: "for a snapshot" });
    return vmSnapshot(context, caller, { kind: sandboxVms, id, name: request.body.name, running });
  },
  forkSandbox: (request) =>
    sandboxFork(context, callerOf(request), { id: request.params.id, count: request.body.count ?? 1 }),
  rollBackSandbox: async (request) => {
    const caller = callerOf(request);
    const params = { id: request.params.id, snapshot: request.body.snapshot };
    return sandboxFor(caller, await rollBackSandbox(context, caller, params));
  },
}));
