// Starts machines that wait in the queue, when their time has come: by their policy, or because of a request for a restart that could not
// be finished. A few at a time, so that hundreds that come back together leave room for new requests.

import { SkerryError } from "@skerry/contract/errors";
import type { MachineStatus } from "@skerry/contract/machines/machine-status";
import type { Context } from "../context.ts";
import { isWaiting, waitOf } from "../waits/stored-wait.ts";
import { startMachine } from "./start-machine.ts";
import {
  changeMachine,
  machineById,
  restartedAgain,
  toldAsRestart,
  type MachineRow,
} from "./machine-store.ts";
import { cancelRestart, nextRestartInMs, postponeRestart, takeDueRestarts } from "./restart-queue-store.ts";
import { reportOf, type BackgroundService } from "../background/background-service.ts";

/** Starts of one activation, and of them at the same time. */
const BATCH = 64;
const AT_ONCE = 4;
/** A start that is refused, because there is no room or its host is away, is tried again after this. */
const REFUSED_AGAIN_MS = 10_000;

/** Each addition to the queue wakes this service; if that is lost, an entry waits `everyMs` at most. */
export function restartQueue(context: Context, everyMs: number): BackgroundService {
  return {
    name: "restart-manager",
    everyMs,
    async activate(stop) {
      const results: PromiseSettledResult<"started" | "waits" | "canceled">[] = [];
      let room = BATCH;
      const work = async () => {
        while (!stop.aborted && room > 0) {
          room -= 1;
          const [id] = await takeDueRestarts(context.db, 1);
          if (id === undefined) return;
          results.push(...(await Promise.allSettled([restart(context, id, stop)])));
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      const nextMs = await nextRestartInMs(context.db);
      return {
        ...reportOf(results, { examined: results.length, more: results.length >= BATCH }),
        changed: results.filter((one) => one.status === "fulfilled" && one.value !== "waits").length,
        ...(nextMs === undefined ? {} : { nextMs }),
      };
    },
  };
}

async function restart(
  context: Context,
  id: string,
  stop: AbortSignal,
): Promise<"started" | "waits" | "canceled"> {
  const row = await machineById(context.db, id);
  if (row === undefined || !atRest.has(row.status) || row.desired !== "running") {
    await cancelRestart(context.db, id);
    return "canceled";
  }
  // A restart that was requested is not one by the policy.
  const change = row.restart_wished ? toldAsRestart : { ...restartedAgain, ...toldAsRestart };
  try {
    await startMachine(context, row, { change, stop });
    if (!row.restart_wished) context.metrics.machineRestarts.add(1);
    return "started";
  } catch (error) {
    // A start that waits has not failed: the row says for what.
    if (!(await waitOn(context, row, error)) || !isWaiting(error)) throw error;
    return "waits";
  }
}

const atRest: ReadonlySet<MachineStatus> = new Set(["stopped", "failed"]);

/**
 * Refused before it began, it waits on and says for what. What began and failed is in the queue already, or
 * has given up: false.
 */
async function waitOn(context: Context, row: MachineRow, error: unknown): Promise<boolean> {
  if (!(error instanceof SkerryError) || (await machineById(context.db, row.id))?.version !== row.version)
    return false;
  const [why = ""] = (row.reason ?? "").split(WAITS);
  const wait = waitOf(error, row.host_id);
  await postponeRestart(context.db, row.id, { delayMs: REFUSED_AGAIN_MS, wait });
  await changeMachine(context.db, row, { reason: `${why}${WAITS}${error.message}` });
  return true;
}

const WAITS = "; its next start waits: ";
