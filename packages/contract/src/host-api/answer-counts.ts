// Counters of a route's answers, which only grow while the process that counts is the same one.

import type { EdgeTraffic } from "./edge.ts";

export type AnswerCounts = Omit<NonNullable<EdgeTraffic["routes"]>[number], "route">;

/** Answers since `before`. Counters that run backwards have begun at 0 again. */
export function answersSince(now: AnswerCounts, before: AnswerCounts | undefined): AnswerCounts {
  if (before === undefined || answersOf(before) > answersOf(now)) return countsOf(now);
  return combined(now, before, (one, other) => Math.max(0, one - other));
}

export function answersTogether(one: AnswerCounts | undefined, other: AnswerCounts): AnswerCounts {
  return one === undefined ? countsOf(other) : combined(one, other, (a, b) => a + b);
}

/** Number of all. */
export function answersOf({ times }: Pick<AnswerCounts, "times">): number {
  return times.reduce((sum, count) => sum + count, 0);
}

function countsOf({ times, client_errors, server_errors }: AnswerCounts): AnswerCounts {
  return { times, client_errors, server_errors };
}

function combined(
  one: AnswerCounts,
  other: AnswerCounts,
  work: (a: number, b: number) => number,
): AnswerCounts {
  return {
    times: one.times.map((count, at) => work(count, other.times[at] ?? 0)),
    client_errors: work(one.client_errors, other.client_errors),
    server_errors: work(one.server_errors, other.server_errors),
  };
}
