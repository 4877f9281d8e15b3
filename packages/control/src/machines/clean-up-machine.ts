// The machines' part of VM cleanup: what it carries out on one host.

import type { HostClient } from "../host-client/host-client.ts";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Context } from "../context.ts";
import { reapplyEgress } from "../vms/egress/egress.ts";
import { finishDestroyingMachine, giveUpDestroying } from "./destroy-machine.ts";
import { endLostMachine, endMachine } from "./end-machine.ts";
import { stopMachineOnHost, nothingThere } from "./stop-machine.ts";
import { machineVms } from "./machines.ts";
import { atRest, begun, rolledBack, transitionMachine, type MachineRow } from "./machine-store.ts";
import type { MachineFact } from "./machine-facts.ts";
import { cancelRestart, queueRestart } from "./restart-queue-store.ts";
import { endUnwanted, orPostpone, postpone } from "../vms/postpone.ts";
import type { MachineAction } from "./machine-reconcile.ts";

export interface Work {
  readonly client: HostClient;
  readonly action: MachineAction;
  readonly stop: AbortSignal;
  /** In whose name. */
  readonly service: string;
}

export async function cleanUpMachine(context: Context, work: Work): Promise<void> {
  const { client, action, stop } = work;
  switch (action.kind) {
    case "end":
      return endByItself(context, work, action);
    case "abandon":
      return abandon(context, work, action.row);
    case "return":
      return void (await endLostMachine(context, action.row, action.ending));
    case "adopt":
      return adopt(context, work, action.row);
    case "stop":
      return orPostpone(
        context,
        action.row,
        () => stopMachine(context, action.row, stop),
        (said) => goOnUnstopped(context, action, said),
      );
    case "queue":
      await queueRestart(context.db, action.row.id, 0);
      return context.wake("restart-manager");
    case "egress":
      return orPostpone(context, action.row, () =>
        reapplyEgress(context, { kind: machineVms, id: action.row.id }, stop),
      );
    case "finish":
      return orPostpone(
        context,
        action.row,
        () => finishDestroyingMachine(context, action.row, stop),
        // VM cleanup removes what the host still has of it, as any microVM that its machine does not need.
        () => giveUpDestroying(context, action.row),
      );
    case "halt":
      return endUnwanted(context, action, "a microVM that its machine does not want is stopped", async () => {
        await client.stopVm(action.vm, 0, { stop }).catch(nothingThere);
      });
    case "discard":
      return endUnwanted(context, action, "a microVM that its machine does not need is removed", () =>
        client.destroyVm(action.vm, stop),
      );
  }
}

export async function endByItself(
  context: Context,
  { client, stop, service }: Omit<Work, "action">,
  { row, ending }: Omit<MachineAction & { kind: "end" }, "kind">,
): Promise<void> {
  const ended = await endMachine(context, row, ending, (transaction, machine) =>
    recordOwnActs(transaction, { service, action: "machine.end", resource: "machine" }, [machine]),
  );
  // What is left of one that never ran; should this fail, the next activation finds a VM whose row has failed.
  if (ended && !row.has_run) await client.destroyVm(row, stop);
}

/** Its client was never told of it. */
async function abandon(context: Context, { stop, service }: Work, row: MachineFact): Promise<void> {
  const destroying = await context.db.transaction().execute(async (transaction) => {
    const reason = "the control plane stopped while it was being forked";
    const machine = await transitionMachine(transaction, row, "destroying", { reason });
    if (machine === undefined) return undefined;
    await recordOwnActs(transaction, { service, action: "machine.end", resource: "machine" }, [machine]);
    return machine;
  });
  if (destroying !== undefined) await finishDestroyingMachine(context, destroying, stop);
}

/** From now on it runs as if nothing had been. One that its host brought back goes on with the life that it had. */
async function adopt(context: Context, { service }: Work, row: MachineFact): Promise<void> {
  const { started_at: _, ...goesOn } = begun;
  const adopted = await context.db.transaction().execute(async (transaction) => {
    const reason = row.host_lost ? "its host came back with it" : null;
    const machine = await transitionMachine(transaction, row, "running", {
      ...(row.host_lost && row.has_run ? goesOn : begun),
      ...rolledBack,
      reason,
    });
    if (machine === undefined) return undefined;
    await cancelRestart(transaction, row.id);
    await recordOwnActs(transaction, { service, action: "machine.adopt", resource: "machine" }, [machine]);
    return machine;
  });
  if (adopted !== undefined) context.log.info({ machine_id: row.id }, "a machine is running after all");
}

async function stopMachine(context: Context, row: MachineFact, stop: AbortSignal): Promise<void> {
  const stopping: Pick<MachineRow, keyof MachineFact & keyof MachineRow> | undefined =
    row.status === "stopping" ? row : await transitionMachine(context.db, row, "stopping");
  if (stopping === undefined) return;
  const patience = AbortSignal.timeout(STOP_PATIENCE_MS);
  const stopped = await stopMachineOnHost(context, stopping, {
    stop: AbortSignal.any([stop, patience]),
  }).catch((error: unknown) => {
    if (!patience.aborted) throw error;
    // The host goes on with it, and the next order joins the one that is under way.
    return postpone(context.db, stopping, {});
  });
  // The desired state has changed meanwhile.
  if (stopped?.desired !== "running") return;
  await queueRestart(context.db, row.id, 0);
  context.wake("restart-manager");
}

/** Its host cannot stop it: what it has of the machine says what becomes of the row. One that runs goes on,
 *  and can be stopped again. */
async function goOnUnstopped(
  context: Context,
  { row, vm }: MachineAction & { kind: "stop" },
  said: string,
): Promise<void> {
  const reason = `it could not be stopped: ${said}`;
  if (row.status !== "stopping") return;
  if (vm?.status === "running")
    return void (await transitionMachine(context.db, row, "running", {
      ...{ desired: "running", restart_wished: false, reason },
    }));
  // It does not run, so this is no more than what its host has not cleared up.
  await transitionMachine(context.db, row, vm?.status === "creating" ? "failed" : "stopped", {
    ...atRest,
    reason,
  });
}

/** A machine may take minutes to stop; others should not wait for it. */
export const STOP_PATIENCE_MS = 15_000;
