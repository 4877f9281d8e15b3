// Answers of apps by routes, summed up from what the proxy counts. A route that it has not heard of for some
// time begins at 0 again, and all do with each configuration.

import { ANSWER_TIME_BOUNDS_MS } from "@skerry/contract/apps/app-bounds";
import { answersSince, answersTogether } from "@skerry/contract/host-api/answer-counts";
import type { EdgeTraffic } from "@skerry/contract/host-api/edge";

export type RouteAnswers = NonNullable<EdgeTraffic["routes"]>[number];

/** Name of the proxy's table. */
export const ANSWERS_TABLE = "answers";
const TIMES = ANSWER_TIME_BOUNDS_MS.length + 1;
/** Counters of a route: one for each time, and those of errors. */
const [CLIENT_ERRORS, SERVER_ERRORS] = [TIMES, TIMES + 1];
/** Failures of a route in ten seconds that are kept: those of apps, and those for want of an instance. */
const KEPT_FAILURES = 50;

/** `id`: what has the id of the route, empty for none. */
export function trackLines(id: string): string {
  return `  http-request track-sc2 ${id} table ${ANSWERS_TABLE}
  http-request set-var(txn.begun) date(0,ms)
  http-request set-log-level silent if { sc_http_req_rate(2,${ANSWERS_TABLE}) gt ${KEPT_FAILURES} } { var(txn.place),nbsrv -m int 0 }`;
}

/** The first bound that fits ends the rules, which is the smallest for most. */
export function answerLines(): string {
  const times = ANSWER_TIME_BOUNDS_MS.flatMap((bound, index) => {
    const isWithin = `if { var(txn.taken) -m int lt ${bound} }`;
    return [`  http-response sc-inc-gpc(${index},2) ${isWithin}`, `  http-response allow ${isWithin}`];
  });
  return [
    `  http-response sc-inc-gpc(${CLIENT_ERRORS},2) if { status 400:499 }`,
    `  http-response sc-inc-gpc(${SERVER_ERRORS},2) if { status ge 500 }`,
    `  http-response set-log-level silent if { status ge 500 } { sc_http_fail_rate(2,${ANSWERS_TABLE}) gt ${KEPT_FAILURES} }`,
    "  http-response set-var(txn.taken) date(0,ms),sub(txn.begun)",
    ...times,
    `  http-response sc-inc-gpc(${TIMES - 1},2)`,
  ].join("\n");
}

export const answersTable = `backend ${ANSWERS_TABLE}
  stick-table type string len 40 size 20k expire 5m store gpc(${TIMES + 2}),http_fail_rate(10s),http_req_rate(10s)`;

/** Counters of routes, as `show table` has them. */
export function countedAnswers(text: string): Map<string, RouteAnswers> {
  const entries = text.split("\n").flatMap((line) => {
    const [, route] = / key=([a-z0-9_]+) /.exec(line) ?? [];
    if (route === undefined) return [];
    const counts = [...line.matchAll(/ gpc\d+=(\d+)/g)].map(([, count]) => Number(count));
    const times = Array.from({ length: TIMES }, (_, at) => counts[at] ?? 0);
    const [client_errors = 0, server_errors = 0] = counts.slice(TIMES);
    return [[route, { route, times, client_errors, server_errors }] as const];
  });
  return new Map(entries);
}

export class Answers {
  #last: ReadonlyMap<string, RouteAnswers> = new Map();
  #sums = new Map<string, RouteAnswers>();

  /** `known`: routes that there are; sums of others are forgotten. */
  note(counted: ReadonlyMap<string, RouteAnswers>, known: ReadonlySet<string>): void {
    for (const [route, counts] of counted) {
      const since = answersSince(counts, this.#last.get(route));
      this.#sums.set(route, { route, ...answersTogether(this.#sums.get(route), since) });
    }
    this.#last = counted;
    this.#sums = new Map([...this.#sums].filter(([route]) => known.has(route)));
  }

  /** Counts from here on: the proxy is another process, with counters at 0, or this one is. */
  beginWith(counted: ReadonlyMap<string, RouteAnswers>): void {
    this.#last = counted;
  }

  sums(): RouteAnswers[] {
    return [...this.#sums.values()];
  }
}
