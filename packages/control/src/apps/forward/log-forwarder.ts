// Forwards logs of apps to their receivers, and of all apps to that of the operator. Each app and receiver
// has a lane of its own, so that a receiver that is slow, hangs or refuses holds up no other one.

import { reportOf, type BackgroundService } from "../../background/background-service.ts";
import { hasRoomFor } from "../../background/fair-places.ts";
import { stateOf, type Context } from "../../context.ts";
import { forwardLog } from "./forward-log.ts";
import { Lanes } from "../lanes.ts";
import {
  forgetCursors,
  forwardJobs,
  noteFault,
  PLATFORM,
  setPlatformForward,
  type ForwardJob,
} from "./log-forward-store.ts";
import { ForwardFault } from "./reachable-address.ts";

export const FORWARDER = "log-forwarder";

/** Between looks for lines. */
const AGAIN_MS = 1_000;
const END_PATIENCE_MS = 5_000;
/** Bound of one turn, but for lanes that are open then. */
const STEPS_MAX = 20;
/** Lanes at once. */
const PLACES = 64;

const FIRST_PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 60_000;

export function logForwarder(context: Context, everyMs: number): BackgroundService {
  return {
    name: FORWARDER,
    everyMs,
    async activate(stop) {
      await setPlatformForward(context.db, context.logs.forward);
      await forgetCursors(context.db);
      const lanes = new Lanes();
      const results: PromiseSettledResult<number>[] = [];
      let jobs = await forwardJobs(context.db);
      pausesOf(context).keepOnly(jobs);
      for (let step = 0; !stop.aborted; step += 1) {
        const before = results.length;
        if (step < STEPS_MAX) beginLanes(context, { jobs, lanes, results, stop });
        await lanes.settled(AGAIN_MS);
        const isUnderWay = results.slice(before).some((one) => one.status === "fulfilled" && one.value > 0);
        if (lanes.open.size === 0 && (!isUnderWay || step >= STEPS_MAX)) break;
        jobs = await forwardJobs(context.db);
      }
      await lanes.settled(END_PATIENCE_MS);
      return {
        ...reportOf(results, { examined: results.length, more: false }),
        ...(jobs.length > 0 && { nextMs: AGAIN_MS }),
      };
    },
  };
}

interface Turn {
  readonly jobs: readonly ForwardJob[];
  readonly lanes: Lanes;
  readonly results: PromiseSettledResult<number>[];
  readonly stop: AbortSignal;
}

/** Those that waited longest come first, and no organization takes the places of others. */
function beginLanes(context: Context, { jobs, lanes, results, stop }: Turn): void {
  const pauses = pausesOf(context);
  const { open } = lanes;
  const holders = jobs.filter((job) => open.has(laneOf(job))).map(holderOf);
  const waiting = jobs.filter((job) => !open.has(laneOf(job)) && !pauses.isPaused(job));
  for (const job of waiting.toSorted((one, other) => pauses.lastMs(one) - pauses.lastMs(other))) {
    if (!hasRoomFor(holderOf(job), holders, PLACES)) continue;
    holders.push(holderOf(job));
    pauses.noteBegun(job);
    lanes.begin(laneOf(job), async () => {
      const [result] = await Promise.allSettled([forward(context, job, stop)]);
      results.push(result);
    });
  }
}

function laneOf({ id, app_id: app }: ForwardJob): string {
  return `${id} ${app}`;
}

function holderOf({ id, org_id: org }: ForwardJob): string {
  return id === PLATFORM ? PLATFORM : org;
}

async function forward(context: Context, job: ForwardJob, stop: AbortSignal): Promise<number> {
  const pauses = pausesOf(context);
  try {
    const sent = await forwardLog(context, job, stop);
    if (sent > 0) {
      pauses.end(job);
      if (job.fault !== null) await noteFault(context.db, job.id, undefined);
    }
    return sent;
  } catch (error) {
    if (stop.aborted) throw error;
    const isKnown = error instanceof ForwardFault;
    if (!isKnown) context.log.error({ err: error, app_id: job.app_id }, "a log could not be forwarded");
    const isFirst = pauses.begin(job, isKnown ? error.retryAfterMs : undefined);
    const message = isKnown ? error.message : "The platform fails to send it.";
    if (isFirst && job.id === PLATFORM)
      context.log.warn({ fault: message }, "the receiver of logs of all apps does not take them");
    await noteFault(context.db, job.id, message);
    throw error;
  }
}

interface Pause {
  failures: number;
  /** Time by the monotonic clock, as in what follows. */
  untilMs: number;
}

/** Pauses of receivers that fail. They are not stored: another replica tries once, and then waits as well. */
class Pauses {
  readonly #pauses = new Map<string, Pause>();
  readonly #begun = new Map<string, number>();

  isPaused(job: ForwardJob): boolean {
    return (this.#pauses.get(keyOf(job))?.untilMs ?? 0) > performance.now();
  }

  /** Twice as long each time, and half of it by chance. Whether it is the first one. */
  begin(job: ForwardJob, askedMs = 0): boolean {
    const pause = this.#pauses.get(keyOf(job)) ?? { failures: 0, untilMs: 0 };
    // Those of several apps for one receiver that failed together are one failure.
    if (pause.untilMs > performance.now()) return false;
    const ms = Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** Math.min(pause.failures, 10));
    pause.untilMs = performance.now() + Math.max(askedMs, ms * (0.5 + Math.random() / 2));
    pause.failures += 1;
    this.#pauses.set(keyOf(job), pause);
    return pause.failures === 1;
  }

  end(job: ForwardJob): void {
    this.#pauses.delete(keyOf(job));
  }

  lastMs(job: ForwardJob): number {
    return this.#begun.get(laneOf(job)) ?? 0;
  }

  noteBegun(job: ForwardJob): void {
    this.#begun.set(laneOf(job), performance.now());
  }

  keepOnly(jobs: readonly ForwardJob[]): void {
    const keys = new Set(jobs.map(keyOf));
    const lanes = new Set(jobs.map(laneOf));
    for (const key of this.#pauses.keys()) if (!keys.has(key)) this.#pauses.delete(key);
    for (const lane of this.#begun.keys()) if (!lanes.has(lane)) this.#begun.delete(lane);
  }
}

/** Another receiver of the app is tried at once. */
function keyOf({ id, target }: ForwardJob): string {
  return [id, target.url, target.header_name, target.header_secret].join(" ");
}

const pausesOf = stateOf(() => new Pauses());
