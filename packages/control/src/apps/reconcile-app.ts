// Next steps of an app: its rows and states of its machines in, actions out. Pure. A deploy is no procedure
// of its own: it changes which release is wanted, and the same rules bring instances of it, give them
// requests, and let those of others drain. So a deploy that failed is undone by the rules that carried it
// out, and any replica goes on where another one died.

import type { DeployStatus } from "@skerry/contract/apps/deploy-status";
import { parseDuration } from "@skerry/contract/durations";
import {
  ONE_OFF,
  RELEASE_COMMAND,
  type AppAction,
  type AppFact,
  type InstanceFact,
} from "./reconcile-facts.ts";
import { deployFault, watchFault } from "./deploys/release-faults.ts";

export function appActions(app: AppFact, all: readonly InstanceFact[]): AppAction[] {
  const instances = all.filter(({ group_name: group }) => group !== RELEASE_COMMAND && group !== ONE_OFF);
  const fault = app.deploy && deployFault({ ...app, deploy: app.deploy }, instances);
  if (fault !== undefined) return [fault];
  const regret = watchFault(app, instances);
  if (regret !== undefined) return [regret];
  // Kept for its log until the next deploy.
  const kept = instances.filter(({ state }) => state === "failed");
  const living = instances.filter(({ state }) => state !== "failed");
  const isOut = (one: InstanceFact): boolean => one.end !== undefined || isHopeless(app, one);
  const ended = living.filter(isOut);
  const there = living.filter((one) => !isOut(one));
  const groups = new Set([
    ...there.map((one) => one.group_name),
    ...Object.keys(app.wanted?.manifest.processes ?? {}),
  ]);
  const ofGroups = [...groups].map((group) => groupActions(app, group, there));
  return [
    ...(app.isDeleting || app.deploy !== undefined
      ? kept.map((instance) => ({ kind: "destroy", instance }) as const)
      : []),
    ...all
      .filter((one) =>
        one.group_name === ONE_OFF
          ? isOneOffOver(app, one)
          : one.group_name === RELEASE_COMMAND && isOver(app, one),
      )
      .map((instance) => ({ kind: "destroy", instance }) as const),
    ...ended.map(
      (instance) => ({ kind: instance.state === "draining" ? "destroy" : "replace", instance }) as const,
    ),
    ...ofGroups.flatMap(({ actions }) => actions),
    ...progress(app, ofGroups, there),
  ];
}

/** It has not become well; while it is deployed, its deploy fails instead. */
function isHopeless({ deploy }: AppFact, { state, isLeaving, failure }: InstanceFact): boolean {
  return deploy === undefined && state === "starting" && isLeaving && failure !== undefined;
}

/** The release command has ended well, or the deploy before it did. One that failed is kept for its log. */
function isOver({ preparing, isDeleting, deploy }: AppFact, { release, state }: InstanceFact): boolean {
  if (isDeleting) return true;
  if (state === "failed") return deploy !== undefined || preparing !== undefined;
  return release !== preparing;
}

function isOneOffOver({ isDeleting }: AppFact, { end, state }: InstanceFact): boolean {
  return isDeleting || end !== undefined || state === "draining";
}

interface GroupState {
  readonly actions: readonly AppAction[];
  /** As many instances of the wanted release serve as should. */
  readonly isServed: boolean;
}

function groupActions(app: AppFact, group: string, all: readonly InstanceFact[]): GroupState {
  const here = all.filter((one) => one.group_name === group);
  const isFresh = (one: InstanceFact): boolean => one.release === app.wanted?.number && !one.isLeaving;
  const staying = here.filter(({ state }) => state !== "draining");
  const parts = {
    ...{ group, here, count: countOf(app, group) },
    fresh: staying.filter(isFresh),
    old: staying.filter((one) => !isFresh(one)),
  };
  const held = heldCount(app, parts);
  const over = here.filter(({ state, isDrained }) => state === "draining" && isDrained);
  return {
    actions: [
      ...over
        .filter(({ isStopping }) => !isStopping)
        .map((instance) => ({ kind: instance.isRunning ? "stop" : "destroy", instance }) as const),
      ...arrivals(app, { ...parts, held }),
      ...departures({ ...parts, held }).filter(({ instance }) => mayLeave(app, instance)),
    ],
    isServed: servingOf(parts.fresh).length >= parts.count,
  };
}

interface Parts {
  readonly group: string;
  /** Instances that there should be. */
  readonly count: number;
  readonly here: readonly InstanceFact[];
  /** Those that do not drain: of the wanted release, and those that are to be replaced. */
  readonly fresh: readonly InstanceFact[];
  readonly old: readonly InstanceFact[];
}

function countOf({ isDeleting, wanted, scale }: AppFact, group: string): number {
  if (isDeleting || wanted?.manifest.processes[group] === undefined) return 0;
  return scale[group] ?? 1;
}

/** Instances that the release has while it is tried beside the one before; undefined: it is not, any more. */
function heldCount({ deploy, wanted }: AppFact, { count, fresh, old }: Parts): number | undefined {
  const { canary } = wanted?.manifest ?? {};
  if (deploy === undefined || canary === undefined || old.length === 0 || count === 0) return undefined;
  const holdMs = parseDuration(canary.hold) ?? 0;
  const isOver = servingOf(fresh).some(({ servedMs }) => servedMs >= holdMs);
  return isOver ? undefined : Math.ceil((count * canary.percent) / 100);
}

interface HeldParts extends Parts {
  readonly held: number | undefined;
}

function servingOf(instances: readonly InstanceFact[]): readonly InstanceFact[] {
  return instances.filter(({ state }) => state === "serving");
}

/** Instances that begin to serve, and those that are started for it. */
function arrivals(
  { wanted, mayStart }: AppFact,
  { group, count: whole, here, fresh, old, held }: HeldParts,
): AppAction[] {
  const { strategy } = wanted?.manifest ?? {};
  const isAtOnce = strategy === "bluegreen" && old.length > 0;
  const isUnchecked = strategy === "immediate";
  const ready = fresh.filter(
    (one) => one.state === "starting" && (isUnchecked ? one.isRunning : one.isReady),
  );
  const count = held ?? whole;
  const mayServe = !isAtOnce || servingOf(fresh).length + ready.length >= count;
  const surge = old.length === 0 || isAtOnce || isUnchecked || held !== undefined ? count : 1;
  const missing = Math.min(count - fresh.length, whole + surge - fresh.length - old.length);
  return [
    ...(mayServe ? ready.map((instance) => ({ kind: "serve", instance }) as const) : []),
    ...(mayStart
      ? freeNumbers(here, missing).map((number) => ({ kind: "start", group, number }) as const)
      : []),
  ];
}

/**
 * Instances that are one too many. Those that never served are of no use any more.
 */
function departures({ count, fresh, old, held }: HeldParts) {
  const oldServing = servingOf(old);
  // While the release is tried, all of the one before serve on.
  const ofFresh = held === undefined ? servingOf(fresh).length : 0;
  const spare = ofFresh + oldServing.length - count;
  const surplus = fresh.toSorted((a, b) => Number(a.state === "serving") - Number(b.state === "serving"));
  return drained([
    ...old.filter(({ state }) => state === "starting"),
    ...oldServing.slice(0, Math.max(0, spare)),
    ...surplus.slice(0, Math.max(0, fresh.length - count)),
  ]);
}

function drained(instances: readonly InstanceFact[]) {
  return instances.map((instance) => ({ kind: "drain", instance }) as const);
}

function mayLeave({ edgeFault, isDeleting, wanted }: AppFact, { state }: InstanceFact): boolean {
  return edgeFault === undefined || isDeleting || wanted === undefined || state !== "serving";
}

/** Numbers from 1 that none of the group has. */
function freeNumbers(here: readonly InstanceFact[], count: number): number[] {
  const taken = new Set(here.map(({ number }) => number));
  const free: number[] = [];
  for (let number = 1; free.length < count; number += 1) if (!taken.has(number)) free.push(number);
  return free;
}

const order: readonly DeployStatus[] = ["queued", "starting", "checking", "switching", "draining", "live"];

function progress(app: AppFact, groups: readonly GroupState[], there: readonly InstanceFact[]): AppAction[] {
  const { deploy } = app;
  if (deploy === undefined) return [];
  const to = statusOf(app, deploy.release, { groups, there });
  return order.indexOf(to) > order.indexOf(deploy.status) ? [{ kind: "proceed", to }] : [];
}

function statusOf(
  { edgeFault }: AppFact,
  release: number,
  { groups, there }: { readonly groups: readonly GroupState[]; readonly there: readonly InstanceFact[] },
): DeployStatus {
  const own = there.filter((one) => one.release === release);
  const isServed = groups.every((group) => group.isServed);
  if (isServed && edgeFault === undefined)
    return there.some((one) => one.release !== release && !one.isStopping) ? "draining" : "live";
  if (own.some(({ state }) => state === "serving")) return "switching";
  return own.length > 0 && own.every(({ isRunning }) => isRunning) ? "checking" : "starting";
}
