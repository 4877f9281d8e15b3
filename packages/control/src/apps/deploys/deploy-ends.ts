// Ends of deploys that went wrong: one that fails, and one that was live and goes back to the release before
// without being asked to.

import type { Deploy } from "@skerry/contract/apps/deploy";
import { parseDuration } from "@skerry/contract/durations";
import { newId } from "@skerry/contract/ids";
import { recordOwnActs } from "../../audit/audit-log.ts";
import type { Context } from "../../context.ts";
import { lastLogLines } from "../../machines/machine-logs.ts";
import { resourceCaller } from "../../machines/owned-machines.ts";
import {
  activeDeploy,
  findRelease,
  insertDeploy,
  insertRelease,
  lockApp,
  proceed,
  unwatch,
  type AppRow,
  type DeployRow,
} from "../app-store.ts";
import { setInstanceState } from "../instances/instance-store.ts";
import type { AppWork } from "../app-facts.ts";
import { DEPLOYER } from "../app-rows.ts";
import { giveBack } from "./staged-env.ts";
import type { PreparationAction } from "./prepare-deploy.ts";
import type { AppAction, InstanceFact } from "../reconcile-facts.ts";

export async function fail(
  context: Context,
  app: AppWork,
  { code, message, instance, lastLines = [] }: Omit<PreparationAction & { kind: "fail" }, "kind">,
): Promise<void> {
  const { deploy } = app;
  if (deploy === undefined) return;
  const reason = {
    ...{ code, message },
    instance: instance?.end === undefined ? null : instance.machine_id,
    exit_code: instance?.end?.exitCode ?? null,
    last_lines: instance === undefined ? [...lastLines] : await printedBy(context, app, instance),
  };
  await context.db.transaction().execute(async (transaction) => {
    // As calls do, before the deploy.
    await lockApp(transaction, app.org_id, app.id);
    const failed = await proceed(transaction, deploy, "failed", reason);
    if (failed === undefined) return;
    await giveBack(transaction, failed);
    if (instance?.end !== undefined) await setInstanceState(transaction, instance.machine_id, "failed");
    const act = { service: DEPLOYER, action: "deploy.fail", resource: "deploy" } as const;
    await recordOwnActs(transaction, act, [{ id: deploy.id, org_id: app.org_id }]);
  });
  context.log.info({ app_id: app.id, deploy_id: deploy.id, code }, "a deploy has failed");
}

/** The instance that failed is replaced with the release, and its log is kept. */
export async function rollBack(
  context: Context,
  app: AppWork,
  { code, message, instance }: Omit<AppAction & { kind: "rollBack" }, "kind">,
): Promise<void> {
  const { watched } = app;
  if (watched === undefined) return;
  const reason = {
    ...{ code, message, instance: null },
    exit_code: instance?.end?.exitCode ?? null,
    last_lines: instance === undefined ? [] : await printedBy(context, app, instance),
  };
  await bringBack(context, app, { watched, reason });
  context.log.info({ app_id: app.id, deploy_id: watched.id }, "a release that failed goes back");
}

/** Brings back nothing where a later deploy is there, or the release before is forgotten. */
async function bringBack(
  context: Context,
  { id: appId, org_id: orgId }: Pick<AppRow, "id" | "org_id">,
  { watched, reason }: { readonly watched: DeployRow; readonly reason: NonNullable<Deploy["reason"]> },
): Promise<void> {
  await context.db.transaction().execute(async (transaction) => {
    const app = await lockApp(transaction, orgId, appId);
    const isLater = (await activeDeploy(transaction, appId)) !== undefined;
    if (app === undefined || app.status === "deleting" || isLater) return;
    const before =
      watched.previous === null ? undefined : await findRelease(transaction, appId, watched.previous);
    // Otherwise the instance that failed would wait until the end of the watch for one in its place.
    if (before === undefined) return unwatch(transaction, watched);
    if ((await proceed(transaction, watched, "rolled_back", reason)) === undefined) return;
    await giveBack(transaction, watched);
    const { template, env, secrets, manifest } = before;
    const release = await insertRelease(transaction, app, {
      ...{ template, env, secrets, manifest },
      created_by: null,
    });
    const row = { id: newId("deploy"), app_id: appId, org_id: orgId, release, build_id: null };
    const deploy = await insertDeploy(
      transaction,
      { ...row, created_by: null, is_rollback: true },
      parseDuration(manifest.timeout) ?? 0,
    );
    // Nothing is to be prepared: its template is there, and its release command has run when it was deployed.
    await proceed(transaction, deploy, "starting");
    const act = { service: DEPLOYER, action: "deploy.rollback", resource: "deploy" } as const;
    await recordOwnActs(transaction, act, [{ id: deploy.id, org_id: orgId }]);
  });
}

const LAST_LINES = 20;
const LAST_LINE_MAX_CHARS = 500;

/** Empty where its host does not say. */
async function printedBy(
  context: Context,
  { org_id }: AppWork,
  { machine_id: id }: InstanceFact,
): Promise<string[]> {
  try {
    const lines = await lastLogLines(context, resourceCaller(org_id), { id, lines: LAST_LINES });
    return lines.map((line) => line.slice(0, LAST_LINE_MAX_CHARS));
  } catch (error) {
    context.log.warn({ err: error, machine_id: id }, "the log of an instance could not be read");
    return [];
  }
}
