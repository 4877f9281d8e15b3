// Carries on with every build, also those that another replica began. An activation lasts as long as any is in its hands, and looks around meanwhile:
// a build that takes an hour does not keep another one from its next step.

import { setTimeout as sleep } from "node:timers/promises";
import { isBuildOver } from "@skerry/contract/builds/build-status";
import { reportOf, type BackgroundService } from "../background/background-service.ts";
import { hasRoomFor } from "../background/fair-places.ts";
import type { Context } from "../context.ts";
import { removeDeletedTemplates } from "../templates/delete-template.ts";
import { isWaiting, waitOf, waitsForOf } from "../waits/stored-wait.ts";
import { appendLines } from "./build-log-store.ts";
import { dueBuilds, nextBuildDueMs, postponeBuild } from "./build-queue-store.ts";
import { buildById, type BuildRow } from "./build-store.ts";
import { runBuild } from "./run-build.ts";

const SERVICE = "builder";
/** Of all organizations: each takes a connection to its host and writes lines. */
export const BUILDS_AT_ONCE = 64;
/** One that has come, or was canceled by another replica, is noticed this soon. */
const LOOK_MS = 1_000;
/** Between two rounds over what hosts have to remove, while builds are under way. */
const REMOVE_EVERY_MS = 30_000;

export function builder(context: Context, everyMs: number): BackgroundService {
  return {
    name: SERVICE,
    everyMs,
    async activate(stop) {
      const hand = new BuildHand(context, stop);
      const remover = new TemplateRemover(context, stop);
      let ended: number;
      let stopped: boolean;
      try {
        do {
          ended = hand.results.length;
          remover.look();
          const room = BUILDS_AT_ONCE - hand.ids.length;
          for (const build of await dueBuilds(context.db, hand.ids, room))
            if (hand.hasRoomFor(build.org_id)) hand.take(build);
          await hand.wait(LOOK_MS);
          stopped = await hand.stopEnded();
          // Those that have just ended, be it all at once, have left their places to others.
        } while ((hand.ids.length > 0 || stopped || hand.results.length > ended) && !stop.aborted);
      } finally {
        await hand.empty();
        await remover.end();
      }
      const nextMs = await nextBuildDueMs(context.db);
      const report = reportOf(hand.results, { examined: hand.results.length, more: false });
      return nextMs === undefined ? report : { ...report, nextMs: Math.max(LOOK_MS, nextMs) };
    },
  };
}

/** Has hosts remove deleted templates now and then: with builds that follow each other an activation may last for days. No build waits for it. */
class TemplateRemover {
  readonly #context: Context;
  readonly #stop: AbortSignal;
  #begunMs = -Infinity;
  #round: Promise<void> | undefined;

  constructor(context: Context, stop: AbortSignal) {
    this.#context = context;
    this.#stop = stop;
  }

  look(): void {
    if (this.#round !== undefined || performance.now() - this.#begunMs < REMOVE_EVERY_MS) return;
    this.#begunMs = performance.now();
    this.#round = removeDeletedTemplates(this.#context, { stop: this.#stop })
      .then(
        () => undefined,
        (error: unknown) =>
          this.#context.log.warn({ err: error }, "deleted templates wait for another round"),
      )
      .finally(() => (this.#round = undefined));
  }

  async end(): Promise<void> {
    await this.#round;
  }
}

interface BuildInHand {
  readonly orgId: string;
  readonly done: Promise<void>;
  readonly halt: AbortController;
  readonly wasEnded: boolean;
}

/** The builds that this activation carries on with. */
class BuildHand {
  readonly results: PromiseSettledResult<void>[] = [];
  readonly #context: Context;
  readonly #stop: AbortSignal;
  readonly #builds = new Map<string, BuildInHand>();

  constructor(context: Context, stop: AbortSignal) {
    this.#context = context;
    this.#stop = stop;
  }

  get ids(): string[] {
    return [...this.#builds.keys()];
  }

  hasRoomFor(orgId: string): boolean {
    const holders = [...this.#builds.values()].map((one) => one.orgId);
    return hasRoomFor(orgId, holders, BUILDS_AT_ONCE);
  }

  take(build: BuildRow): void {
    const halt = new AbortController();
    const done = this.#run(build, AbortSignal.any([this.#stop, halt.signal]))
      .then(
        (value) => this.results.push({ status: "fulfilled", value }),
        (reason: unknown) => this.results.push({ status: "rejected", reason }),
      )
      .then(() => void this.#builds.delete(build.id));
    this.#builds.set(build.id, { orgId: build.org_id, done, halt, wasEnded: isEnded(build) });
  }

  /** Resolves when one of them has ended, there are none, or the time is over. */
  async wait(ms: number): Promise<void> {
    if (this.#builds.size === 0) return;
    const waiting = new AbortController();
    const time = sleep(ms, undefined, { signal: waiting.signal }).catch(() => undefined);
    await Promise.race([time, ...[...this.#builds.values()].map(({ done }) => done)]);
    waiting.abort();
  }

  /**
   * What was canceled, or whose time is over, is not waited for; its microVM goes in the next round. True where there was any. One that had ended
   * before it was taken only waits for its host, and is left to that: it would be taken and stopped again in every round.
   */
  async stopEnded(): Promise<boolean> {
    let stopped = false;
    for (const [id, { halt, done, wasEnded }] of this.#builds) {
      if (wasEnded) continue;
      const row = await buildById(this.#context.db, id);
      if (row !== undefined && row.status !== "canceled" && row.left_ms > 0) continue;
      halt.abort();
      await done;
      stopped = true;
    }
    return stopped;
  }

  async empty(): Promise<void> {
    await Promise.allSettled([...this.#builds.values()].map(({ done }) => done));
  }

  async #run(build: BuildRow, stop: AbortSignal): Promise<void> {
    try {
      await runBuild(this.#context, build, stop);
    } catch (error) {
      // The builder ends, or `stopEnded` has stopped this build, which it does once: the next round takes it at once.
      if (stop.aborted) return;
      await postpone(this.#context, build, error);
      // A build that waits has not failed: its row and its log say for what.
      if (!isWaiting(error)) throw error;
    }
  }
}

async function postpone({ db, log }: Context, build: BuildRow, error: unknown): Promise<void> {
  // Once: a host that fails at it for good is asked again and again, as long as it has something of the
  // build.
  if (build.attempts === 0)
    log.warn({ err: error, build_id: build.id }, "a build waits for its next attempt");
  const now = await buildById(db, build.id);
  if (now === undefined) return;
  const waits = await postponeBuild(db, now, waitOf(error, now.host_id));
  if (waits?.waits_for == null || isBuildOver(now.status)) return;
  const { reason } = waitsForOf(waits.waits_for);
  await appendLines(db, { buildId: build.id, step: null, texts: [`--- ${reason}`] });
}

function isEnded({ status, left_ms }: BuildRow): boolean {
  return isBuildOver(status) || left_ms <= 0;
}
