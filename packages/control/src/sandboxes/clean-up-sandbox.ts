// The sandboxes' part of VM cleanup: what it carries out on one host.

import { recordOwnActs } from "../audit/audit-log.ts";
import type { Context } from "../context.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { reapplyEgress } from "../vms/egress/egress.ts";
import { endUnwanted, orPostpone } from "../vms/postpone.ts";
import { finishDestroying } from "./destroy-sandbox.ts";
import { adoptSandbox } from "./adoption-store.ts";
import { finishPausing } from "./pause-sandbox.ts";
import type { Action } from "./sandbox-reconcile.ts";
import { continueRollback } from "./rollback-sandbox.ts";
import { sandboxVms } from "./sandbox-vms.ts";
import { transitionSandbox } from "./sandbox-store.ts";

interface Work {
  readonly client: HostClient;
  readonly action: Action;
  readonly stop: AbortSignal;
  /** The background service that acts. */
  readonly service: string;
}

export async function cleanUpSandbox(
  context: Context,
  { client, action, stop, service }: Work,
): Promise<void> {
  switch (action.kind) {
    case "discard":
      return endUnwanted(context, action, "a microVM without a live row is removed", () =>
        client.destroyVm(action.vm, stop),
      );
    case "fail":
      if (!(await fail(context, action, service))) return;
      context.log.warn({ sandbox_id: action.row.id, reason: action.reason }, "a sandbox has failed");
      // Gives back what is left of it; should this fail, the next activation finds a VM whose row has failed.
      return client.destroyVm(action.row, stop);
    case "lose":
      return void (await transitionSandbox(context.db, action.row, "unreachable", { reason: action.reason }));
    case "adopt":
      return adopt(context, action, service);
    case "pause":
      return orPostpone(
        context,
        action.row,
        async () => void (await finishPausing(context, action.row, { stop })),
      );
    case "rollback":
      return continueRollback(context, action.row, stop);
    case "egress":
      return orPostpone(context, action.row, () =>
        reapplyEgress(context, { kind: sandboxVms, id: action.row.id }, stop),
      );
    case "finish":
      return orPostpone(
        context,
        action.row,
        () => finishDestroying(context, action.row, stop),
        // VM cleanup removes what the host still has of it, as any microVM without a live row.
        async () => void (await transitionSandbox(context.db, action.row, "destroyed", { isGivenUp: true })),
      );
  }
}

/** False where another writer was first. */
function fail(
  context: Context,
  { row, reason }: Action & { kind: "fail" },
  service: string,
): Promise<boolean> {
  return context.db.transaction().execute(async (transaction) => {
    const failed = await transitionSandbox(transaction, row, "failed", { reason });
    if (failed === undefined) return false;
    await recordOwnActs(transaction, { service, action: "sandbox.fail", resource: "sandbox" }, [failed]);
    return true;
  });
}

async function adopt(
  context: Context,
  { row, found }: Action & { kind: "adopt" },
  service: string,
): Promise<void> {
  await context.db.transaction().execute(async (transaction) => {
    const adopted = await adoptSandbox(transaction, row, found);
    if (adopted === undefined) return;
    context.log.info({ sandbox_id: row.id, ...found }, "a sandbox is what its host says of it");
    await recordOwnActs(transaction, { service, action: "sandbox.adopt", resource: "sandbox" }, [adopted]);
  });
}
