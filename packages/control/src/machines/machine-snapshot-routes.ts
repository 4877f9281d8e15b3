import { callerOf } from "../api/authenticate-hook.ts";
import { routes } from "../api/routes.ts";
import { vmSnapshot } from "../snapshots/vm-snapshot.ts";
import { machineFork } from "./fork-machine.ts";
import { machineSnapshotOperations } from "./machine-snapshot-operations.ts";
import { getRunningMachine, machineFor, machineVms } from "./machines.ts";
import { rollBackMachine } from "./rollback-machine.ts";

export const machineSnapshotRoutes = routes(machineSnapshotOperations, (context) => ({
  createMachineSnapshot: (request) => {
    const caller = callerOf(request);
    const { id } = request.params;
    const running = () => getRunningMachine(context, caller, id);
    return vmSnapshot(context, caller, { kind: machineVms, id, name: request.body.name, running });
  },
  forkMachine: (request) =>
    machineFork(context, callerOf(request), { id: request.params.id, count: request.body.count ?? 1 }),
  rollBackMachine: async (request) => {
    const caller = callerOf(request);
    const params = { id: request.params.id, snapshot: request.body.snapshot };
    return machineFor(caller, await rollBackMachine(context, caller, params));
  },
}));
