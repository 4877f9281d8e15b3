// Counters of requests, which only grow while the process that counts is the same one.

import type { EdgeTraffic } from "./edge.ts";

export type TrafficCounts = Omit<EdgeTraffic["instances"][number], "vm" | "execution_id">;

/** Requests since `before`. Counters that run backwards have begun at 0 again. */
export function countsSince(now: TrafficCounts, before: TrafficCounts | undefined): TrafficCounts {
  const base = before === undefined || before.requests > now.requests ? undefined : before;
  const difference = (name: keyof TrafficCounts): number => Math.max(0, now[name] - (base?.[name] ?? 0));
  return countsOf(difference);
}

export function countsTogether(one: TrafficCounts | undefined, other: TrafficCounts): TrafficCounts {
  return countsOf((name) => (one?.[name] ?? 0) + other[name]);
}

function countsOf(count: (name: keyof TrafficCounts) => number): TrafficCounts {
  return {
    requests: count("requests"),
    client_errors: count("client_errors"),
    server_errors: count("server_errors"),
    received_bytes: count("received_bytes"),
    sent_bytes: count("sent_bytes"),
  };
}
