import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { snapshotOperations } from "./snapshot-operations.ts";
import { deleteSnapshot, getSnapshot, listSnapshotsOf, snapshotOf } from "./snapshots.ts";

export const snapshotRoutes = routes(snapshotOperations, (context) => ({
  listSnapshots: (request) => listSnapshotsOf(context, callerOf(request), request.query),
  getSnapshot: async (request) =>
    snapshotOf(await getSnapshot(context, callerOf(request), request.params.id)),
  deleteSnapshot: (request) => deleteSnapshot(context, callerOf(request), request.params.id),
}));
