// States of instances as rules take them, with the checks that their hosts have made.

import type { StoredHealth } from "../../db/tables/machine-tables.ts";
import type { Context } from "../../context.ts";
import { hostAddress } from "../../hosts/host-rows.ts";
import type { AppWork, InstanceWork } from "../app-facts.ts";
import { isIdle } from "../edge/edge-documents.ts";
import { UNWELL_AT } from "../edge/instance-faults.ts";
import type { Lanes } from "../lanes.ts";
import type { InstanceFact } from "../reconcile-facts.ts";

export type Checks = ReadonlyMap<string, StoredHealth>;

/**
 * Asks hosts for the checks of instances that are to serve: rows have it with the next heartbeat only. The map
 * fills as hosts answer.
 */
export function startingChecks(
  context: Context,
  {
    apps,
    lanes,
    stop,
  }: {
    readonly apps: readonly AppWork[];
    readonly lanes: Lanes;
    readonly stop: AbortSignal;
  },
): Checks {
  const starting = apps
    .flatMap(({ instances }) => instances)
    .filter((one) => one.state === "starting" && one.status === "running" && one.has_check === true);
  const found = new Map<string, StoredHealth>();
  for (const id of new Set(starting.flatMap(({ host_id }) => host_id ?? []))) {
    const lane = `checks of ${id}`;
    if (lanes.open.has(lane)) continue;
    lanes.begin(lane, async () => {
      const address = await hostAddress(context.db, id);
      if (address === undefined) return;
      // The next step asks again.
      const states = await context.hosts
        .client(address)
        .checks.list(stop)
        .catch(() => []);
      for (const { id: vm, ...health } of states) found.set(vm, health);
    });
  }
  return found;
}

export function factOf(context: Context, one: InstanceWork, told: StoredHealth | undefined): InstanceFact {
  const ended = { message: one.reason ?? "its machine is gone", exitCode: one.exit_code };
  const isStopping = one.status === "stopping" || (one.status === "running" && one.desired === "stopped");
  const isRunning = one.status === "running" && !isStopping;
  return {
    ...one,
    end: alive.has(one.status ?? "") ? undefined : ended,
    isLost: one.host_lost === true,
    hasRun: one.has_run === true,
    isRunning,
    isStopping,
    ...(isRunning ? checkOf({ ...one, health: told ?? one.health }) : { isReady: false, failure: undefined }),
    isDrained: one.drain_is_over || one.serving_since === null || isIdle(context, one),
    isProven: one.is_proven,
    servedMs: one.served_ms ?? 0,
    isLeaving: mustLeave(one),
  };
}

function mustLeave({ is_leaving, fault_count }: InstanceWork): boolean {
  return is_leaving === true || fault_count >= UNWELL_AT;
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
