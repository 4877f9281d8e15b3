// GET /v1/apps/{id}/failures: requests that were answered with 5xx, as all hosts have kept them.

import { APP_FAILURES_MAX, type AppFailure, type AppFailures } from "@skerry/contract/apps/app-failures";
import type { EdgeFailure } from "@skerry/contract/host-api/edge";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { listHostRows } from "../../hosts/host-rows.ts";
import { readTime } from "../../values/times.ts";
import { getAppRow } from "../app-rows.ts";
import { failureWords } from "./failure-words.ts";
import { instancesWithLogs, nameOf } from "../logs/instance-log.ts";

/** Hosts that are asked at once. */
const AT_ONCE = 8;

interface FailureParams {
  readonly id: string;
  readonly since: string | undefined;
  readonly gone: AbortSignal;
}

export async function readAppFailures(
  context: Context,
  caller: Caller,
  { id, since, gone }: FailureParams,
): Promise<AppFailures> {
  await getAppRow(context.db, caller, id);
  const from = since === undefined ? new Date(0) : readTime("since", since);
  const all = await listHostRows(context.db);
  const hosts = all.filter(({ status }) => status !== "offline");
  const found: EdgeFailure[] = [];
  const unavailable = all.flatMap(({ id: host, status }) => (status === "offline" ? [host] : []));
  for (let at = 0; at < hosts.length; at += AT_ONCE) {
    const part = hosts.slice(at, at + AT_ONCE);
    const answers = await Promise.allSettled(
      part.map(({ address }) => context.hosts.client(address).edge.failures(id, from, gone)),
    );
    for (const [index, answer] of answers.entries())
      if (answer.status === "fulfilled") found.push(...answer.value.failures);
      else unavailable.push(part[index]?.id ?? "");
  }
  const names = new Map(
    (await instancesWithLogs(context.db, id, undefined)).map((one) => [one.machine_id, nameOf(one)]),
  );
  const items = found
    .toSorted((one, other) => one.at.localeCompare(other.at))
    .slice(-APP_FAILURES_MAX)
    .map((one) => shownFailure(one, names));
  return { items, unavailable };
}

function shownFailure(failure: EdgeFailure, names: ReadonlyMap<string, string>): AppFailure {
  const { at, status, vm, method, path, ms, request_id } = failure;
  return {
    ...{ at, status, why: failureWords(failure), instance: names.get(vm ?? "") ?? null, machine_id: vm },
    ...{ method, path, ms, request_id },
  };
}
