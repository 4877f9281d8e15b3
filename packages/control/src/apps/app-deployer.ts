// Carries out what apps need: starts instances, gives them requests, lets them drain and ends them, and says
// in the rows of deploys how far they have come. It takes no input but the rows, so that a turn goes on where
// the one before broke off, on whichever replica.

import { SkerryError } from "@skerry/contract/errors";
import { parseDuration } from "@skerry/contract/durations";
import type { MachineCreateRequest } from "@skerry/contract/machines/machine";
import { recordOwnActs } from "../audit/audit-log.ts";
import { reportOf, type BackgroundService } from "../background/background-service.ts";
import type { Context } from "../context.ts";
import type { StoredHealth } from "../db/tables/machine-tables.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import { destroyMachine } from "../machines/destroy-machine.ts";
import { createOwnedMachine } from "../machines/owned-machines.ts";
import {
  changeApp,
  insertInstance,
  noteCrash,
  proceed,
  removeApp,
  removeInstance,
  setInstanceState,
} from "./app-store.ts";
import { appWork, orphans, type AppWork, type InstanceWork } from "./app-facts.ts";
import { DEPLOYER } from "./app-rows.ts";
import { edgeFaultOf, isIdle, tellEdges } from "./edge-documents.ts";
import { appActions, type AppAction, type InstanceFact } from "./reconcile-app.ts";

/** Between looks at apps that are on their way somewhere. */
const AGAIN_MS = 250;
/** Bound of one turn, so that other work of this replica is not held up. */
const STEPS_MAX = 20;

export function appDeployer(context: Context, everyMs: number): BackgroundService {
  return {
    name: DEPLOYER,
    everyMs,
    async activate(stop) {
      const results: PromiseSettledResult<number>[] = await Promise.allSettled(
        (await orphans(context.db)).map(async ({ id, org_id, app_id }) => {
          await destroyMachine(context, { orgId: org_id }, id, { id: app_id });
          return 1;
        }),
      );
      let isUnderWay = true;
      for (let step = 0; step < STEPS_MAX && isUnderWay && !stop.aborted; step += 1) {
        const apps = await appWork(context.db);
        await tellEdges(context, apps, stop);
        const checks = await startingChecks(context, apps, stop);
        const done = await Promise.allSettled(apps.map((app) => carryOut(context, app, checks)));
        results.push(...done);
        isUnderWay = done.some((one) => one.status === "fulfilled" && one.value > 0);
      }
      const waits = (await appWork(context.db)).some(isOnItsWay);
      return {
        ...reportOf(results, { examined: results.length, more: false }),
        ...(waits ? { nextMs: AGAIN_MS } : {}),
      };
    },
  };
}

function isOnItsWay({ status, deploy, instances }: AppWork): boolean {
  const unsettled = instances.some((one) => one.state === "starting" || one.state === "draining");
  return status === "deleting" || deploy !== undefined || unsettled;
}

type Checks = ReadonlyMap<string, StoredHealth>;

/**
 * Asks hosts for the checks of instances that are to serve, by machine: rows have it with the next heartbeat
 * only.
 */
async function startingChecks(
  context: Context,
  apps: readonly AppWork[],
  stop: AbortSignal,
): Promise<Checks> {
  const starting = apps
    .flatMap(({ instances }) => instances)
    .filter((one) => one.state === "starting" && one.status === "running" && one.has_check === true);
  const hosts = [...new Set(starting.flatMap(({ host_id }) => host_id ?? []))];
  const lists = await Promise.allSettled(
    hosts.map(async (id) => {
      const address = await hostAddress(context.db, id);
      return address === undefined ? [] : context.hosts.client(address).checks.list(stop);
    }),
  );
  const states = lists.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  return new Map(states.map(({ id, ...health }) => [id, health]));
}

/** Resolves with how much was done. */
async function carryOut(context: Context, app: AppWork, checks: Checks): Promise<number> {
  if (app.status === "deleting" && app.instances.length === 0) {
    await removeApp(context.db, app.id);
    return 1;
  }
  const facts = app.instances.map((one) => factOf(context, one, checks.get(one.machine_id)));
  const fact = {
    isDeleting: app.status === "deleting",
    ...{ scale: app.scale, wanted: app.wanted, mayStart: app.may_start },
    deploy: app.deploy && { ...app.deploy, isOverdue: app.deploy.is_overdue },
    edgeFault: edgeFaultOf(context, app),
  };
  const actions = appActions(fact, facts);
  const results = await Promise.allSettled(actions.map((action) => act(context, app, action)));
  const failure = results.find((one) => one.status === "rejected");
  if (failure !== undefined) throw failure.reason;
  return actions.length;
}

function factOf(context: Context, one: InstanceWork, told: StoredHealth | undefined): InstanceFact {
  const ended = { message: one.reason ?? "its machine is gone", exitCode: one.exit_code };
  const isRunning = one.status === "running";
  return {
    ...one,
    end: alive.has(one.status ?? "") ? undefined : ended,
    isRunning,
    ...(isRunning ? checkOf({ ...one, health: told ?? one.health }) : { isReady: false, failure: undefined }),
    isDrained: one.drain_is_over || one.serving_since === null || isIdle(context, one),
    isProven: one.is_proven,
  };
}

/** Verdict of its host on this check in this incarnation. */
function checkOf({
  health,
  has_check,
  execution_id,
  check_version,
}: InstanceWork): Pick<InstanceFact, "isReady" | "failure"> {
  if (has_check !== true) return { isReady: true, failure: undefined };
  const isOfNow = health?.execution_id === execution_id && health.version === check_version;
  if (!isOfNow) return { isReady: false, failure: undefined };
  const failure = health.status === "failing" ? (health.reason ?? "it fails") : undefined;
  return { isReady: health.status === "passing", failure };
}

const alive: ReadonlySet<string> = new Set(["creating", "starting", "running", "stopping"]);

async function act(context: Context, app: AppWork, action: AppAction): Promise<void> {
  switch (action.kind) {
    case "start":
      return start(context, app, action);
    case "serve":
      return setInstanceState(context.db, action.instance.machine_id, "serving");
    case "drain":
      return setInstanceState(context.db, action.instance.machine_id, "draining", drainMs(app));
    case "destroy":
      return destroy(context, app, action.instance);
    case "replace":
      await noteCrash(context.db, app.id, action.instance.isProven);
      return destroy(context, app, action.instance);
    case "proceed":
      return advance(context, app, action.to);
    case "fail":
      return fail(context, app, action);
  }
}

async function start(
  context: Context,
  app: AppWork,
  { group, number }: AppAction & { kind: "start" },
): Promise<void> {
  const { wanted } = app;
  if (wanted === undefined) return;
  const owner = { kind: "app", id: app.id, name: app.name } as const;
  const request = machineRequest(app, wanted, { group, number });
  try {
    const { id } = await createOwnedMachine(context, {
      orgId: app.org_id,
      owner,
      request,
      service: DEPLOYER,
    });
    const row = { machine_id: id, app_id: app.id, release: wanted.number, group_name: group, number };
    await insertInstance(context.db, row);
    // Its host is told of the check now, and not in the next turn of VM cleanup.
    context.wake("vm-cleanup");
  } catch (error) {
    // What cannot be started now may be in the next turn, up to the deploy's timeout; what is wrong with the
    // release never can.
    if (!(error instanceof SkerryError) || error.retryAfterS !== undefined || error.status >= 500) {
      context.log.warn({ err: error, app_id: app.id }, "an instance could not be started");
      return;
    }
    const { code, message } = error;
    if (app.deploy === undefined) throw error;
    await fail(context, app, {
      code,
      message: `${group}.${number} could not be started: ${message}`,
    });
  }
}

/** It is not started again by itself: another one takes its place, on whichever host. */
function machineRequest(
  app: AppWork,
  { manifest, template, env, secrets, number: release }: NonNullable<AppWork["wanted"]>,
  { group, number }: { readonly group: string; readonly number: number },
): MachineCreateRequest {
  const { command, size } = manifest.processes[group] ?? {};
  const service = manifest.services.find((one) => one.group === group);
  return {
    ...{ template, name: `${app.name}/${group}.${number}` },
    env: { ...(service === undefined ? {} : { PORT: String(service.port) }), ...env },
    secrets: secrets.map(({ name, as }) => ({ name, ...(as !== undefined && { as }) })),
    metadata: { app: app.name, group, release: String(release) },
    restart: { policy: "no" },
    ...(command !== undefined && { command }),
    ...(size !== undefined && { size }),
    ...(service !== undefined && { check: service.check }),
  };
}

function drainMs({ wanted, status }: AppWork): number {
  const text = wanted?.manifest.drain_timeout;
  return text === undefined || status === "deleting" ? 0 : (parseDuration(text) ?? 0);
}

async function destroy(context: Context, app: AppWork, { machine_id: id }: InstanceFact): Promise<void> {
  await destroyMachine(context, { orgId: app.org_id }, id, { id: app.id }).catch((error: unknown) => {
    if (!(error instanceof SkerryError) || error.code !== "machine_not_found") throw error;
  });
  await removeInstance(context.db, id);
}

async function advance(
  context: Context,
  { id, deploy }: AppWork,
  to: (AppAction & { kind: "proceed" })["to"],
): Promise<void> {
  if (deploy === undefined) return;
  await context.db.transaction().execute(async (transaction) => {
    // Each deploy is told as begun, also where its instances are well at the first look.
    const moved = await proceed(transaction, deploy, deploy.status === "queued" ? "starting" : to);
    if (moved !== undefined && moved.status === "live")
      await changeApp(transaction, id, { live: deploy.release });
  });
}

async function fail(
  context: Context,
  app: AppWork,
  { code, message, instance }: Omit<AppAction & { kind: "fail" }, "kind">,
): Promise<void> {
  const { deploy } = app;
  if (deploy === undefined) return;
  const reason = {
    ...{ code, message },
    instance: instance?.end === undefined ? null : instance.machine_id,
    exit_code: instance?.end?.exitCode ?? null,
  };
  await context.db.transaction().execute(async (transaction) => {
    const failed = await proceed(transaction, deploy, "failed", reason);
    if (failed === undefined) return;
    if (instance?.end !== undefined) await setInstanceState(transaction, instance.machine_id, "failed");
    const act = { service: DEPLOYER, action: "deploy.fail", resource: "deploy" } as const;
    await recordOwnActs(transaction, act, [{ id: deploy.id, org_id: app.org_id }]);
  });
  context.log.info({ app_id: app.id, deploy_id: deploy.id, code }, "a deploy has failed");
}
