// Carries out what apps need: starts instances, gives them requests, lets them drain and ends them, and says
// in the rows of deploys how far they have come. It takes no input but the rows, so that a turn goes on where
// the one before broke off, on whichever replica.

import { parseDuration } from "@skerry/contract/durations";
import { reportOf, type BackgroundService } from "../background/background-service.ts";
import { cancelBuild } from "../builds/cancel-build.ts";
import { findBuilds } from "../builds/builds.ts";
import type { Context } from "../context.ts";
import { edgeDoors } from "../hosts/host-rows.ts";
import { destroyMachine } from "../machines/destroy-machine.ts";
import { resourceCaller, stopOwnedMachine } from "../machines/owned-machines.ts";
import { forgetSecrets, ofApp } from "../secrets/secrets.ts";
import { abandonedBuilds, changeApp, lockApp, noteBuilt, proceed, removeApp, watch } from "./app-store.ts";
import { insertInstance, setInstanceState } from "./instances/instance-store.ts";
import { appWork, isAnyOnItsWay, isRunnable, orphans, type AppWork, type Orphan } from "./app-facts.ts";
import { DEPLOYER } from "./app-rows.ts";
import { collectTraffic, errorsDoubled } from "./traffic/app-traffic.ts";
import { forgetTemplates } from "./app-templates.ts";
import { fail, rollBack } from "./deploys/deploy-ends.ts";
import { edgeFaultOf, tellEdges } from "./edge/edge-documents.ts";
import { destroyInstance, replaceInstance } from "./instances/end-instance.ts";
import { factOf, startingChecks, type Checks } from "./instances/instance-facts.ts";
import { Lanes } from "./lanes.ts";
import { explained, unreachedReason } from "./instances/listening.ts";
import { preparation, type PreparationAction } from "./deploys/prepare-deploy.ts";
import { appActions } from "./reconcile-app.ts";
import { RELEASE_COMMAND, type AppAction, type InstanceFact } from "./reconcile-facts.ts";
import { jobOf, startInstance } from "./instances/start-instance.ts";

/** Between looks at apps that are on their way somewhere. */
const AGAIN_MS = 250;
/** Wait of a step for the hosts that it asks, and for the apps that it carries out. */
const PATIENCE_MS = 1_000;
/** Wait for work that is under way when the process ends. */
const END_PATIENCE_MS = 5_000;
/** Bound of one turn, so that other work of this replica is not held up. */
const STEPS_MAX = 20;

export function appDeployer(context: Context, everyMs: number): BackgroundService {
  return {
    name: DEPLOYER,
    everyMs,
    async activate(stop) {
      const results: Done[] = [];
      const [ofApps, ofHosts] = [new Lanes(), new Lanes()];
      let isUnderWay = true;
      for (let step = 0; (step < STEPS_MAX && isUnderWay) || ofApps.open.size > 0; step += 1) {
        if (stop.aborted) break;
        const before = results.length;
        await takeStep(context, { ofApps, ofHosts, results, stop });
        isUnderWay = results.slice(before).some((one) => one.status === "fulfilled" && one.value > 0);
        if (!isUnderWay) await ofApps.settled(AGAIN_MS);
      }
      await ofApps.settled(END_PATIENCE_MS);
      const waits = await isAnyOnItsWay(context.db);
      return {
        ...reportOf(results, { examined: results.length, more: false }),
        ...(waits ? { nextMs: AGAIN_MS } : {}),
      };
    },
  };
}

type Done = PromiseSettledResult<number>;

interface Turn {
  readonly ofApps: Lanes;
  /** Calls that ask or tell hosts. */
  readonly ofHosts: Lanes;
  /** How much was done for each app, at each step that has ended. */
  readonly results: Done[];
  readonly stop: AbortSignal;
}

/**
 * Looks at all apps once. One whose step before has not ended, as the creation of a machine on a host that is
 * slow, is left out, and hosts that do not answer soon are waited for in a later step.
 */
async function takeStep(context: Context, { ofApps, ofHosts, results, stop }: Turn): Promise<void> {
  // Before rows are read: those of an app whose step ends meanwhile are old.
  const busy = ofApps.open;
  results.push(...(await Promise.allSettled(await leftovers(context, busy))));
  const apps = await appWork(context.db);
  collectTraffic(context, { apps, lanes: ofHosts, stop });
  await tellEdges(context, { apps, doors: await edgeDoors(context.db), lanes: ofHosts, stop });
  const checks = startingChecks(context, { apps, lanes: ofHosts, stop });
  await ofHosts.settled(PATIENCE_MS);
  for (const app of apps.filter(({ id }) => !busy.has(id)))
    ofApps.begin(app.id, async () => {
      const [one] = await Promise.allSettled([carryOut(context, app, checks)]);
      results.push(one);
    });
  await ofApps.settled(PATIENCE_MS);
}

/** Work that processes which died, and deploys that ended before their builds, have left. */
async function leftovers(context: Context, busy: ReadonlySet<string>): Promise<Promise<number>[]> {
  // Machines of the others may be about to get their instances.
  const machines = (await orphans(context.db)).filter((one) => !busy.has(one.app_id));
  const builds = await abandonedBuilds(context.db);
  return [
    ...machines.map((one) => takeIn(context, one)),
    ...builds.map(async ({ id, org_id }) => {
      await cancelBuild(context, resourceCaller(org_id), id);
      return 1;
    }),
  ];
}

/**
 * A release command that has begun is not run a second time, and a one-off of the version before may be about
 * to get its row.
 */
async function takeIn(context: Context, { id, org_id, app_id, name, release }: Orphan): Promise<number> {
  const job = jobOf(name);
  if (job === undefined || release === null)
    await destroyMachine(context, { orgId: org_id }, id, { id: app_id });
  else
    await insertInstance(context.db, {
      ...{ machine_id: id, app_id, release },
      ...{ group_name: job.group, number: job.number },
    });
  return 1;
}

/** Outcome of a start that found no room or no host: the next turn, and not the next step, tries again. */
const WAITS = "waits";
type Outcome = typeof WAITS | void;

/** Resolves with how much was done. */
async function carryOut(context: Context, app: AppWork, checks: Checks): Promise<number> {
  const { coming, deploy, status } = app;
  if (status === "deleting" && app.instances.length === 0) {
    await forgetTemplates(context, app);
    await forgetSecrets(context, ofApp({ orgId: app.org_id }, app.id));
    await removeApp(context.db, app.id);
    return 1;
  }
  const facts = app.instances.map((one) => factOf(context, one, checks.get(one.machine_id)));
  const isPrepared = coming === undefined;
  const actions = appActions(
    {
      isDeleting: status === "deleting",
      ...{ scale: app.scale, wanted: app.wanted, mayStart: app.may_start },
      deploy: isPrepared && deploy ? { ...deploy, isOverdue: deploy.is_overdue } : undefined,
      isWatched: app.watched !== undefined,
      errors: await errorsDoubled(context.db, app),
      preparing: coming?.number,
      edgeFault: edgeFaultOf(context, app),
    },
    facts,
  );
  const toPrepare = await preparationOf(context, app, facts);
  const results = await Promise.allSettled([
    ...actions.map((action, index) => act(context, app, { action, before: actions.slice(0, index) })),
    ...toPrepare.map((action) => prepare(context, app, action)),
  ]);
  const failure = results.find((one) => one.status === "rejected");
  if (failure !== undefined) throw failure.reason;
  return results.filter((one) => one.status === "fulfilled" && one.value !== WAITS).length;
}

async function preparationOf(
  context: Context,
  { org_id, coming, deploy, status }: AppWork,
  facts: readonly InstanceFact[],
): Promise<PreparationAction[]> {
  if (coming === undefined || deploy === undefined || status === "deleting") return [];
  const [build] = deploy.build_id === null ? [] : await findBuilds(context, org_id, [deploy.build_id]);
  return preparation({
    ...{ status: deploy.status, isOverdue: deploy.is_overdue, isBuilt: isRunnable(coming) },
    build: build?.shownTo(resourceCaller(org_id)),
    releaseCommand: coming.manifest.release_command,
    job: facts.find((one) => one.group_name === RELEASE_COMMAND && one.release === coming.number),
  });
}

async function prepare(context: Context, app: AppWork, action: PreparationAction): Promise<Outcome> {
  const { coming, deploy } = app;
  if (coming === undefined || deploy === undefined) return;
  switch (action.kind) {
    case "built": {
      const timeoutMs = parseDuration(coming.manifest.timeout) ?? 0;
      return noteBuilt(context.db, deploy, { template: action.template, timeoutMs });
    }
    case "runReleaseCommand": {
      if (!isRunnable(coming)) return;
      const seat = { group: RELEASE_COMMAND, number: coming.number };
      const fault = await startInstance(context, app, { release: coming, seat });
      if (fault === "waits") return WAITS;
      if (fault === "started") return;
      const message = `The release command could not be started: ${fault.message}`;
      return fail(context, app, { code: fault.code, message });
    }
    case "discard":
      return destroyInstance(context, app, action.instance);
    case "proceed":
      return advance(context, app, action.to);
    case "fail":
      return fail(context, app, action);
  }
}

interface Acting {
  readonly action: AppAction;
  /** Actions of the same step. */
  readonly before: readonly AppAction[];
}

async function act(context: Context, app: AppWork, { action, before }: Acting): Promise<Outcome> {
  switch (action.kind) {
    case "start":
      return start(context, app, { ...action, ahead: aheadOf(action, before) });
    case "serve":
      return serve(context, app, action.instance);
    case "drain":
      return setInstanceState(context.db, action.instance.machine_id, "draining", drainMs(app));
    case "stop":
      return stopOwnedMachine(context, {
        ...{ orgId: app.org_id, id: action.instance.machine_id },
        ...{ owner: app, service: DEPLOYER },
      });
    case "destroy":
      return destroyInstance(context, app, action.instance);
    case "replace":
      return replaceInstance(context, app, action.instance);
    case "proceed":
      return advance(context, app, action.to);
    case "fail":
      return fail(context, app, await explained(context, app, action));
    case "rollBack":
      return rollBack(context, app, action);
  }
}

/**
 * An instance of a deploy that no request can reach fails it. Otherwise the deploy would be live with errors.
 */
async function serve(context: Context, app: AppWork, instance: InstanceFact): Promise<void> {
  const isOfDeploy = app.deploy?.release === instance.release;
  const message = isOfDeploy ? await unreachedReason(context, app, instance) : undefined;
  if (message !== undefined) return fail(context, app, { code: "instance_failed", message, instance });
  return setInstanceState(context.db, instance.machine_id, "serving");
}

function aheadOf({ group }: AppAction & { kind: "start" }, before: readonly AppAction[]): number {
  return before.filter((one) => one.kind === "start" && one.group === group).length;
}

function drainMs({ wanted, status }: AppWork): number {
  const text = wanted?.manifest.drain_timeout;
  return text === undefined || status === "deleting" ? 0 : (parseDuration(text) ?? 0);
}

async function start(
  context: Context,
  app: AppWork,
  { ahead, ...seat }: Pick<AppAction & { kind: "start" }, "group" | "number"> & { readonly ahead: number },
): Promise<Outcome> {
  if (app.wanted === undefined) return;
  const fault = await startInstance(context, app, { release: app.wanted, seat, ahead });
  if (fault === "waits") return WAITS;
  if (fault === "started") return;
  if (app.deploy === undefined || app.coming !== undefined) throw fault;
  const message = `${seat.group}.${seat.number} could not be started: ${fault.message}`;
  await fail(context, app, { code: fault.code, message });
}

async function advance(
  context: Context,
  app: AppWork,
  to: (AppAction & { kind: "proceed" })["to"],
): Promise<void> {
  const { id, deploy, org_id: orgId } = app;
  if (deploy === undefined) return;
  await context.db.transaction().execute(async (transaction) => {
    // As calls do, before the deploy.
    await lockApp(transaction, orgId, id);
    const moved = await proceed(transaction, deploy, to);
    if (moved?.status !== "live") return;
    await changeApp(transaction, id, { live: deploy.release });
    const watchMs = parseDuration(app.wanted?.manifest.watch ?? "0s") ?? 0;
    await watch(transaction, deploy, { previous: app.live, watchMs });
  });
}
