// Ends of machines of an app. Their logs are kept, and templates that only they ran from go.

import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../../context.ts";
import { hostAddress } from "../../hosts/host-rows.ts";
import { destroyMachine } from "../../machines/destroy-machine.ts";
import { noteCrash } from "../app-store.ts";
import { removeInstance } from "./instance-store.ts";
import type { AppWork } from "../app-facts.ts";
import { forgetTemplates } from "../app-templates.ts";
import type { InstanceFact } from "../reconcile-facts.ts";

export async function destroyInstance(
  context: Context,
  app: AppWork,
  { machine_id: id }: Pick<InstanceFact, "machine_id">,
): Promise<void> {
  await keepLog(context, app, id);
  await destroyMachine(context, { orgId: app.org_id }, id, { id: app.id }).catch((error: unknown) => {
    if (!(error instanceof SkerryError) || error.code !== "machine_not_found") throw error;
  });
  await removeInstance(context.db, { app_id: app.id, machine_id: id });
  // It may have been the last one that ran from its template.
  await forgetTemplates(context, app);
}

/** A log that its host cannot keep is no reason to keep the instance. */
async function keepLog(context: Context, { org_id: group, instances }: AppWork, vm: string): Promise<void> {
  const hostId = instances.find((one) => one.machine_id === vm)?.host_id ?? "";
  const address = await hostAddress(context.db, hostId);
  if (address === undefined) return;
  await context.hosts
    .client(address)
    .keptLogs.keep({ group, vm })
    .catch((error: unknown) => {
      context.log.warn({ err: error, machine_id: vm }, "the log of an instance is not kept");
    });
}

/** The end of an instance of another release, or with its host, says nothing of what is started next. */
export async function replaceInstance(context: Context, app: AppWork, instance: InstanceFact): Promise<void> {
  if (instance.release === app.wanted?.number && !instance.isLost && instance.hasRun)
    await noteCrash(context.db, app.id, instance.isProven);
  return destroyInstance(context, app, instance);
}
