// GET /v1/apps/{id}/logs?follow=true: the last lines of all instances, or those behind a cursor, and then
// each line as it comes. Instances that start are taken in, and those that end are read to their last line.
// Each instance has a lane of its own, from which the merge takes lines; nothing is queued beyond its bounds.

import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { AppLogLine, AppLogReset, AppLogsQuery, AppLogsSynced } from "@skerry/contract/apps/app-logs";
import { SkerryError } from "@skerry/contract/errors";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { machineVms } from "../../machines/machines.ts";
import { isAsked, isAway, lastLines, logWish, shownLine, type AppLogWish } from "./app-logs.ts";
import { findApp } from "../app-store.ts";
import { instanceLines, instancesWithLogs, nameOf, type LoggedInstance } from "./instance-log.ts";
import { LineMerge, type Merged } from "./line-merge.ts";
import { formatCursor, parseCursor, type LogCursor } from "./log-cursor.ts";
import { formatPlace, parsePlace, type PlacedLine } from "./log-place.ts";

/** Between looks at the instances, and at a log that broke off. */
const LOOK_EVERY_MS = 1_000;
const SYNCED_EVERY_MS = 15_000;

export type Told =
  | { readonly event: "line"; readonly data: AppLogLine }
  | { readonly event: "synced"; readonly data: AppLogsSynced }
  | { readonly event: "reset"; readonly data: AppLogReset }
  | { readonly event: "end"; readonly data: object };

interface FollowParams {
  readonly id: string;
  readonly query: AppLogsQuery;
  readonly gone: AbortSignal;
}

/** Refusals are thrown before the stream begins. */
export async function followAppLogs(
  context: Context,
  caller: Caller,
  { id, query, gone }: FollowParams,
): Promise<AsyncGenerator<Told>> {
  const wish = await logWish(context, caller, { id, query });
  const after = query.after === undefined ? undefined : parseCursor(query.after);
  return new Follower(context, caller, { id, wish, gone }).told(after);
}

interface Following {
  readonly id: string;
  readonly wish: AppLogWish;
  readonly gone: AbortSignal;
}

interface Item extends Merged {
  readonly place: string;
  readonly line: AppLogLine | undefined;
}

class Follower {
  readonly #context: Context;
  readonly #caller: Caller;
  readonly #following: Following;
  readonly #merge = new LineMerge<Item>();
  /** Time of the last look at the instances, by the clock of the database. */
  #lookedAtMs = 0;
  #known: ReadonlyMap<string, LoggedInstance> = new Map();
  #isAppThere = true;
  /** How far the client has come in each log that is read. */
  readonly #places = new Map<string, string>();
  /** Instances that were read to their ends. */
  readonly #read = new Set<string>();
  readonly #away = new Set<string>();

  constructor(context: Context, caller: Caller, following: Following) {
    this.#context = context;
    this.#caller = caller;
    this.#following = following;
  }

  async *told(after: LogCursor | undefined): AsyncGenerator<Told> {
    using _merge = this.#merge;
    using stop = new DisposableAbort(this.#following.gone);
    const { signal } = stop;
    signal.addEventListener("abort", () => this.#merge.wake(), { once: true });
    try {
      if (after === undefined) yield* this.#begin(signal);
      else await this.#goOn(after);
      yield this.#synced();
      yield* this.#follow(after?.atMs ?? this.#lookedAtMs, signal);
    } catch (error) {
      if (!(error instanceof SkerryError) || error.code !== "shutting_down") throw error;
      yield { event: "reset", data: { reason: "shutting_down", cursor: this.#cursor() } };
    }
  }

  /** The last lines. Later ones are those behind them. */
  async *#begin(signal: AbortSignal): AsyncGenerator<Told> {
    const { wish } = this.#following;
    await this.#look(undefined);
    const instances = [...this.#known.values()];
    const { lines, unavailable, places } = await lastLines(this.#context, instances, {
      ...{ wish, gone: signal, isFollowed: true },
    });
    for (const one of instances)
      if (one.is_gone) this.#read.add(one.machine_id);
      else this.#places.set(one.machine_id, places.get(one.machine_id) ?? this.#placeOfNow());
    for (const { machine_id: machine } of unavailable) this.#away.add(machine);
    for (const data of lines) yield { event: "line", data };
  }

  /** Place in a log that cannot be read now. */
  #placeOfNow(): string {
    return formatPlace({ atMs: this.#lookedAtMs, count: 0 });
  }

  async #goOn({ atMs, places }: LogCursor): Promise<void> {
    for (const [machine, place] of places) this.#places.set(machine, place);
    await this.#look(undefined);
    for (const { machine_id: machine, ended_at: endedAt } of this.#known.values()) {
      const wasRead = endedAt !== null && endedAt.getTime() < atMs && !places.has(machine);
      if (wasRead) this.#read.add(machine);
    }
    for (const machine of places.keys()) if (!this.#known.has(machine)) this.#places.delete(machine);
  }

  async *#follow(sinceMs: number, signal: AbortSignal): AsyncGenerator<Told> {
    let lookAtMs = 0;
    let syncedAtMs = performance.now() + SYNCED_EVERY_MS;
    for (;;) {
      if (performance.now() >= lookAtMs) {
        if (lookAtMs > 0) await this.#look(new Date(sinceMs));
        this.#beginLanes(signal);
        lookAtMs = performance.now() + LOOK_EVERY_MS;
      }
      const next = await this.#merge.next(Math.min(lookAtMs, syncedAtMs), signal);
      if (next !== undefined) {
        this.#places.set(next.key, next.item.place);
        if (next.item.line !== undefined) yield { event: "line", data: next.item.line };
      } else if (!this.#isAppThere && this.#merge.open.size === 0) return yield { event: "end", data: {} };
      if (performance.now() < syncedAtMs) continue;
      yield this.#synced();
      syncedAtMs = performance.now() + SYNCED_EVERY_MS;
    }
  }

  async #look(since: Date | undefined): Promise<void> {
    const { db } = this.#context;
    const { id, wish } = this.#following;
    const { rows } = await sql<{ now: Date }>`select now() as now`.execute(db);
    const instances = await instancesWithLogs(db, id, since);
    this.#isAppThere = (await findApp(db, this.#caller.orgId, id)) !== undefined;
    // Instances that have ended before are in none of the next looks, which are later by a part of a
    // millisecond.
    this.#lookedAtMs = (rows[0]?.now.getTime() ?? 0) + 1;
    const asked = instances.filter((one) => isAsked(one, wish));
    this.#known = new Map(asked.map((one) => [one.machine_id, one]));
    for (const machine of this.#read) if (!this.#known.has(machine)) this.#read.delete(machine);
  }

  #beginLanes(signal: AbortSignal): void {
    const { open } = this.#merge;
    for (const machine of this.#places.keys())
      if (!open.has(machine) && !this.#known.has(machine)) this.#places.delete(machine);
    for (const machine of this.#known.keys()) {
      if (open.has(machine) || this.#read.has(machine)) continue;
      this.#merge.begin(machine);
      void this.#readToEnd(machine, signal);
    }
  }

  /** Reads the log of an instance to its end, over broken connections and over the end of the instance. */
  async #readToEnd(machine: string, signal: AbortSignal): Promise<void> {
    try {
      using _place = this.#context.openStreams.take(this.#caller, { kind: machineVms, id: machine });
      let place = this.#places.get(machine);
      for (let one = this.#known.get(machine); one !== undefined; one = this.#known.get(machine)) {
        place = await this.#readOnce(one, place, signal);
        if (one.is_gone && !this.#away.has(machine)) break;
        await sleep(LOOK_EVERY_MS, undefined, { signal });
      }
      this.#read.add(machine);
      this.#merge.end(machine);
    } catch (error) {
      if (!signal.aborted) this.#merge.fail(error);
    }
  }

  /** Resolves with the place up to which it was read. */
  async #readOnce(
    one: LoggedInstance,
    from: string | undefined,
    gone: AbortSignal,
  ): Promise<string | undefined> {
    let place = from;
    const after = from === undefined ? undefined : parsePlace(from);
    try {
      for await (const placed of instanceLines(this.#context, one, { after, follow: !one.is_gone, gone })) {
        this.#away.delete(one.machine_id);
        ({ place } = placed);
        await this.#merge.push(one.machine_id, this.#itemOf(one, placed));
      }
      this.#away.delete(one.machine_id);
    } catch (error) {
      gone.throwIfAborted();
      if (error instanceof SkerryError && !isAway(error)) throw error;
      this.#away.add(one.machine_id);
    }
    return place;
  }

  #itemOf(one: LoggedInstance, placed: PlacedLine): Item {
    const line = shownLine(one, placed, this.#following.wish);
    return { ...{ atMs: placed.atMs, place: placed.place, line }, chars: (line?.line.length ?? -1) + 1 };
  }

  #synced(): Told {
    const away = [...this.#known.values()].filter(({ machine_id: machine }) => this.#away.has(machine));
    return { event: "synced", data: { cursor: this.#cursor(), unavailable: away.map(nameOf) } };
  }

  #cursor(): string {
    const places = [...this.#places].filter(
      ([machine]) => !this.#read.has(machine) || this.#merge.open.has(machine),
    );
    return formatCursor({ atMs: this.#lookedAtMs, places: new Map(places) });
  }
}

/** Aborts with another signal, and when it is disposed of. */
class DisposableAbort implements Disposable {
  readonly #controller = new AbortController();
  readonly signal: AbortSignal;

  constructor(other: AbortSignal) {
    this.signal = AbortSignal.any([this.#controller.signal, other]);
  }

  [Symbol.dispose](): void {
    this.#controller.abort();
  }
}
