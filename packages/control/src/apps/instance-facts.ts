// States of instances as rules take them, with the checks that their hosts have made.

import type { StoredHealth } from "../db/tables/machine-tables.ts";
import type { Context } from "../context.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import type { AppWork, InstanceWork } from "./app-facts.ts";
import { isIdle } from "./edge-documents.ts";
import type { InstanceFact } from "./reconcile-app.ts";

export type Checks = ReadonlyMap<string, StoredHealth>;

/**
 * Asks hosts for the checks of instances that are to serve, by machine: rows have it with the next heartbeat
 * only.
 */
export async function startingChecks(
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

export function factOf(context: Context, one: InstanceWork, told: StoredHealth | undefined): InstanceFact {
  const ended = { message: one.reason ?? "its machine is gone", exitCode: one.exit_code };
  const isStopping = one.status === "stopping" || (one.status === "running" && one.desired === "stopped");
  const isRunning = one.status === "running" && !isStopping;
  return {
    ...one,
    end: alive.has(one.status ?? "") ? undefined : ended,
    isRunning,
    isStopping,
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
