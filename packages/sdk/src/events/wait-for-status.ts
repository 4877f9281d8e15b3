// The wait for a status of a resource. It asks again and again: a stream of events each would soon be one
// too many.

import { deployStatuses, isDeployOver } from "@skerry/contract/apps/deploy-status";
import { buildStatuses, isBuildOver } from "@skerry/contract/builds/build-status";
import type { ResourceEventKind } from "@skerry/contract/events/resource-event";
import { SkerryStatusError } from "../errors/errors.ts";
import type { CallOptions } from "../http/http.ts";
import { pause } from "../http/retries.ts";
import { idOf, type Read, type Resource } from "./follow-resource.ts";

export interface WaitOptions extends CallOptions {
  /** Longest wait, in milliseconds; default 10 minutes. */
  readonly timeoutMs?: number | undefined;
}

const WITHIN_MS = 600_000;
const FIRST_PAUSE_MS = 250;
const PAUSE_MAX_MS = 2_000;

export type Status<One extends { readonly status: string }> = One["status"] | readonly One["status"][];

export async function waitForStatus<One extends Resource & { readonly status: string }>(
  kind: ResourceEventKind,
  { id, read }: { readonly id: string; readonly read: Read<One> },
  until: Status<One>,
  { timeoutMs = WITHIN_MS, ...options }: WaitOptions,
): Promise<One> {
  const wanted: readonly string[] = [until].flat();
  const deadlineMs = performance.now() + timeoutMs;
  let [known, pauseMs] = [id, FIRST_PAUSE_MS];
  for (;;) {
    const current = await read(known, options);
    if (wanted.includes(current.status)) return current;
    const leftMs = deadlineMs - performance.now();
    const isOver = hasEnded(kind, current);
    if (isOver || leftMs <= 0) throw new SkerryStatusError(current, wanted, isOver);
    known = idOf(current);
    await pause(Math.min(pauseMs, leftMs), options.signal);
    pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 1.5);
  }
}

/** Statuses that stay without a further call. */
const ended: { readonly [Kind in ResourceEventKind]: readonly string[] } = {
  app: [],
  background_service: [],
  build: buildStatuses.filter(isBuildOver),
  deploy: deployStatuses.filter(isDeployOver),
  host: [],
  machine: ["destroyed", "failed"],
  move: ["canceled", "done", "failed"],
  sandbox: ["destroyed", "failed"],
  snapshot: ["failed"],
  template: [],
};

function hasEnded(kind: ResourceEventKind, resource: { readonly status: string }): boolean {
  const { status } = resource;
  if (!ended[kind].includes(status)) return false;
  if (kind !== "machine" || status !== "failed") return true;
  // Its policy may start one that has failed again.
  const { restart_at: restart, waits_for: waits } = fieldsOf(resource);
  return restart == null && waits == null;
}

function fieldsOf(resource: object): Readonly<Record<string, unknown>> {
  // A sandbox in hand is none of these.
  return resource as Readonly<Record<string, unknown>>;
}
