// GET /v1/apps/{id}/logs: lines of all instances by time.

import type { AppLogLine, AppLogs, AppLogsQuery, LogLevel } from "@skerry/contract/apps/app-logs";
import { CONSOLE_LINES_DEFAULT, CONSOLE_LINES_MAX } from "@skerry/contract/bounds";
import { SkerryError } from "@skerry/contract/errors";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { isWanted, type LineFilter } from "../../machines/log-lines.ts";
import { readTime } from "../../values/times.ts";
import { getAppRow } from "../app-rows.ts";
import { getDeploy } from "../deploys/deploys.ts";
import { instanceLines, instancesWithLogs, nameOf, type LoggedInstance } from "./instance-log.ts";
import { isAtLeast, levelOf } from "./log-level.ts";
import type { PlacedLine } from "./log-place.ts";

/** Bound of all lines of one answer. */
const ANSWER_MAX_CHARS = 16 * 1024 * 1024;
/** Instances that are read at once. */
const AT_ONCE = 8;

/** Behind all times: a host that knows none tells of what runs there now. */
const LATEST = "9999";

interface AppLogParams {
  readonly id: string;
  readonly query: AppLogsQuery;
  readonly gone: AbortSignal;
}

export async function readAppLogs(
  context: Context,
  caller: Caller,
  { id, query, gone }: AppLogParams,
): Promise<AppLogs> {
  const wish = await logWish(context, caller, { id, query });
  const readAt = new Date();
  const instances = (await instancesWithLogs(context.db, id, wish.filter.since)).filter((one) =>
    isAsked(one, wish),
  );
  const { lines, unavailable } = await lastLines(context, instances, { wish, gone });
  return { lines, unavailable: unavailable.map(nameOf), read_at: readAt.toISOString() };
}

/** Lines that a caller asks for, and instances. */
export interface AppLogWish {
  /** Last ones of all instances together. */
  readonly lines: number;
  readonly filter: LineFilter;
  readonly level: LogLevel | undefined;
  /** Undefined, as in what follows: all. */
  readonly group: string | undefined;
  readonly instance: string | undefined;
  readonly releases: readonly number[] | undefined;
}

/** Throws `app_not_found`, `deploy_not_found`, or what is wrong with a field. */
export async function logWish(
  context: Context,
  caller: Caller,
  { id, query }: Pick<AppLogParams, "id" | "query">,
): Promise<AppLogWish> {
  const { grep, level, since, until, group, instance } = query;
  refuseMixed(query);
  await getAppRow(context.db, caller, id);
  const isSearched = [grep, level, since, until].some((one) => one !== undefined);
  return {
    lines: query.lines ?? (isSearched ? CONSOLE_LINES_MAX : CONSOLE_LINES_DEFAULT),
    filter: {
      ...{ grep, kernel: false },
      since: since === undefined ? undefined : readTime("since", since),
      until: until === undefined ? undefined : readTime("until", until),
    },
    ...{ level, group, instance, releases: await releasesOf(context, caller, { id, query }) },
  };
}

function refuseMixed({ until, after, follow = false }: AppLogsQuery): void {
  if (!follow && after !== undefined)
    throw new SkerryError("bad_request", "A log has a cursor where it is followed.", {
      remediation: "Add `follow=true`, or choose lines by `since`.",
      context: { field: "after" },
    });
  if (follow && until !== undefined)
    throw new SkerryError("bad_request", "A log that is followed does not end at a time.", {
      remediation: "Leave out `until` or `follow`.",
      context: { field: "until" },
    });
}

async function releasesOf(
  context: Context,
  caller: Caller,
  { id, query: { release, deploy } }: Pick<AppLogParams, "id" | "query">,
): Promise<readonly number[] | undefined> {
  if (deploy === undefined) return release === undefined ? undefined : [release];
  const { release: deployed } = await getDeploy(context, caller, { id, deploy });
  return release === undefined || release === deployed ? [deployed] : [];
}

export function isAsked(one: LoggedInstance, { group, instance, releases }: AppLogWish): boolean {
  if (group !== undefined && one.group_name !== group) return false;
  if (releases !== undefined && !releases.includes(one.release)) return false;
  return instance === undefined || instance === one.machine_id || instance === nameOf(one);
}

/** Undefined where it is not asked for. */
export function shownLine(
  { machine_id, release, ...one }: LoggedInstance,
  { line, atMs, place }: PlacedLine,
  { filter, level: least }: AppLogWish,
): AppLogLine | undefined {
  if (line === undefined || !isWanted(line, filter)) return undefined;
  const level = levelOf(line.line);
  if (least !== undefined && !isAtLeast(level, least)) return undefined;
  return {
    at: atMs === 0 ? null : new Date(atMs).toISOString(),
    ...{ instance: nameOf(one), machine_id, release, level },
    ...{ line: line.line, position: place },
  };
}

interface LastLines {
  readonly lines: AppLogLine[];
  readonly unavailable: LoggedInstance[];
  /** How far the log of each instance was read. */
  readonly places: ReadonlyMap<string, string>;
}

interface Reading {
  readonly wish: AppLogWish;
  readonly gone: AbortSignal;
  /** Without lines that may go on, because they are read again when they have ended. */
  readonly isFollowed?: true;
}

export async function lastLines(
  context: Context,
  instances: readonly LoggedInstance[],
  reading: Reading,
): Promise<LastLines> {
  const maxChars = Math.floor(ANSWER_MAX_CHARS / Math.max(1, instances.length));
  const found: AppLogLine[] = [];
  const unavailable: LoggedInstance[] = [];
  const places = new Map<string, string>();
  for (let at = 0; at < instances.length; at += AT_ONCE) {
    const part = instances.slice(at, at + AT_ONCE);
    const read = await Promise.allSettled(
      part.map((one) => linesOfOne(context, one, { ...reading, maxChars })),
    );
    for (const [index, one] of part.entries()) {
      const answer = read[index];
      if (answer?.status === "fulfilled") {
        found.push(...answer.value.lines);
        if (answer.value.place !== undefined) places.set(one.machine_id, answer.value.place);
      } else if (isAway(answer?.reason)) unavailable.push(one);
      else throw answer?.reason;
    }
  }
  const byTime = found.toSorted((one, other) => (one.at ?? LATEST).localeCompare(other.at ?? LATEST));
  const { lines } = reading.wish;
  return { lines: lines === 0 ? [] : byTime.slice(-lines), unavailable, places };
}

export function isAway(error: unknown): boolean {
  return error instanceof SkerryError && error.code === "host_unavailable";
}

async function linesOfOne(
  context: Context,
  one: LoggedInstance,
  { wish, gone, maxChars, isFollowed }: Reading & { readonly maxChars: number },
): Promise<{ readonly lines: AppLogLine[]; readonly place: string | undefined }> {
  const lines: AppLogLine[] = [];
  let place: string | undefined;
  let chars = 0;
  // A line that may go on counts as one of the last.
  const last = isFollowed === true ? Math.min(wish.lines + 1, CONSOLE_LINES_MAX) : wish.lines;
  for await (const placed of instanceLines(context, one, { last, follow: false, gone })) {
    if (placed.line?.isOpen === true && isFollowed === true && !one.is_gone) break;
    ({ place } = placed);
    const line = shownLine(one, placed, wish);
    if (line === undefined) continue;
    lines.push(line);
    chars += line.line.length + 1;
    while (lines.length > wish.lines || chars > maxChars) chars -= (lines.shift()?.line.length ?? chars) + 1;
  }
  return { lines, place };
}
