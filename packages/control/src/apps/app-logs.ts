// GET /v1/apps/{id}/logs: lines of all instances by time. Those of instances that run are asked of their
// machines' hosts, and those of instances that are gone are kept by the hosts where they ran.

import { sql } from "kysely";
import type { AppLogs, AppLogsQuery, LogLevel } from "@skerry/contract/apps/app-logs";
import { CONSOLE_LINES_DEFAULT, CONSOLE_LINES_MAX } from "@skerry/contract/bounds";
import type { TimedPiece } from "@skerry/contract/host-api/timed-console";
import { SkerryError } from "@skerry/contract/errors";
import type { ShownSecret } from "@skerry/contract/vms/secrets";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import { isWanted, linesOf, type LineFilter } from "../machines/log-lines.ts";
import { readTime } from "../values/times.ts";
import { redactorOfVm } from "../vms/vm-redactor.ts";
import { getAppRow } from "./app-rows.ts";
import { getDeploy } from "./deploys.ts";
import { isAtLeast, levelOf } from "./log-level.ts";

/** Bound of all lines of one answer. */
const ANSWER_MAX_CHARS = 16 * 1024 * 1024;
/** Hosts that are asked at once. */
const AT_ONCE = 8;

/** Behind all times: a host that knows none tells of what runs there now. */
const LATEST = "9999";

interface Instance {
  readonly machine_id: string;
  readonly release: number;
  readonly group_name: string;
  readonly number: number;
  readonly host_id: string;
  readonly is_gone: boolean;
  readonly secrets: readonly ShownSecret[] | null;
}

type Line = AppLogs["lines"][number];

export async function readAppLogs(
  context: Context,
  caller: Caller,
  { id, query, gone }: { readonly id: string; readonly query: AppLogsQuery; readonly gone: AbortSignal },
): Promise<AppLogs> {
  const chosen = await chosenInstances(context, caller, { id, query });
  const filter = filterOf(query);
  const readAt = new Date();
  const instances = (await instancesWithLogs(context.db, id, filter.since)).filter((one) =>
    isAsked(one, chosen),
  );
  const isSearched = [query.grep, query.level, query.since, query.until].some((one) => one !== undefined);
  const lines = query.lines ?? (isSearched ? CONSOLE_LINES_MAX : CONSOLE_LINES_DEFAULT);
  const read = { orgId: caller.orgId, appId: id, lines, filter, level: query.level, gone };
  const maxChars = Math.floor(ANSWER_MAX_CHARS / Math.max(1, instances.length));
  const found: Line[] = [];
  const unavailable: string[] = [];
  for (let at = 0; at < instances.length; at += AT_ONCE) {
    const part = instances.slice(at, at + AT_ONCE);
    const answers = await Promise.allSettled(
      part.map((one) => linesOfOne(context, one, { ...read, maxChars })),
    );
    for (const [index, answer] of answers.entries())
      if (answer.status === "fulfilled") found.push(...answer.value);
      else unavailable.push(unavailableName(part[index], answer.reason));
  }
  const byTime = found.toSorted((one, other) => (one.at ?? LATEST).localeCompare(other.at ?? LATEST));
  return { lines: byTime.slice(-lines), unavailable, read_at: readAt.toISOString() };
}

/** Undefined: all. */
interface Chosen {
  readonly group: string | undefined;
  readonly instance: string | undefined;
  readonly releases: readonly number[] | undefined;
}

/** Throws `app_not_found` or `deploy_not_found`. */
async function chosenInstances(
  context: Context,
  caller: Caller,
  { id, query }: { readonly id: string; readonly query: AppLogsQuery },
): Promise<Chosen> {
  const { group, instance, release, deploy } = query;
  await getAppRow(context.db, caller, id);
  if (deploy === undefined)
    return { group, instance, releases: release === undefined ? undefined : [release] };
  const { release: deployed } = await getDeploy(context, caller, { id, deploy });
  return { group, instance, releases: release === undefined || release === deployed ? [deployed] : [] };
}

function filterOf({ grep, since, until }: AppLogsQuery): LineFilter {
  return {
    ...{ grep, kernel: false },
    since: since === undefined ? undefined : readTime("since", since),
    until: until === undefined ? undefined : readTime("until", until),
  };
}

/** Also those that ended since then. */
async function instancesWithLogs(db: Queries, appId: string, since: Date | undefined): Promise<Instance[]> {
  const { rows } = await sql<Instance>`
    select machine_id, release, group_name, number, host_id, secrets, false as is_gone
    from app_instances join vms on vms.id = machine_id where app_id = ${appId}
    union all
    select machine_id, release, group_name, number, host_id, secrets, true
    from ended_instances where app_id = ${appId} and (${since ?? null}::timestamptz is null or ended_at >= ${since ?? null})
    order by machine_id`.execute(db);
  return rows;
}

function isAsked(one: Instance, { group, instance, releases }: Chosen): boolean {
  if (group !== undefined && one.group_name !== group) return false;
  if (releases !== undefined && !releases.includes(one.release)) return false;
  return instance === undefined || instance === one.machine_id || instance === nameOf(one);
}

function nameOf({ group_name: group, number }: Instance): string {
  return `${group}.${number}`;
}

interface Reading {
  readonly orgId: string;
  readonly appId: string;
  /** The last ones of each. */
  readonly lines: number;
  readonly filter: LineFilter;
  readonly level: LogLevel | undefined;
  readonly maxChars: number;
  readonly gone: AbortSignal;
}

/** A line without a time has that of the one before it. */
async function linesOfOne(
  context: Context,
  one: Instance,
  { orgId, appId, lines, filter, level: least, maxChars, gone }: Reading,
): Promise<Line[]> {
  const address = await hostAddress(context.db, one.host_id);
  if (address === undefined) return [];
  const pieces = await piecesOf(context.hosts.client(address), one, { orgId, lines, gone });
  const redactor = await redactorOfVm(context, {
    ...{ org_id: orgId, owner_kind: "app", owner_id: appId, secrets: one.secrets },
  });
  const found: Line[] = [];
  let chars = 0;
  let at: string | null = null;
  for await (const line of linesOf(pieces, async () => redactor)) {
    if (line.atMs !== undefined) at = new Date(line.atMs).toISOString();
    if (!isWanted(line, filter)) continue;
    const level = levelOf(line.line);
    if (least !== undefined && !isAtLeast(level, least)) continue;
    const { machine_id, release } = one;
    found.push({ at, instance: nameOf(one), machine_id, release, level, line: line.line });
    chars += line.line.length + 1;
    while (found.length > lines || chars > maxChars) chars -= (found.shift()?.line.length ?? chars) + 1;
  }
  return found;
}

async function piecesOf(
  client: HostClient,
  { machine_id: vm, is_gone }: Instance,
  { orgId, lines, gone }: Pick<Reading, "orgId" | "lines" | "gone">,
): Promise<AsyncIterable<TimedPiece>> {
  const pieces = is_gone
    ? client.keptLogs.read({ group: orgId, vm }, gone)
    : client.console(vm, { lines, follow: false }, gone);
  return pieces.catch((error: unknown) => {
    // One that has not begun on its host has printed nothing, a log that is too old is forgotten, and a host of
    // a version before keeps none.
    if (error instanceof SkerryError && ["vm_not_found", "not_found"].includes(error.code)) return nothing();
    throw error;
  });
}

async function* nothing(): AsyncGenerator<TimedPiece> {}

function unavailableName(one: Instance | undefined, reason: unknown): string {
  if (one !== undefined && reason instanceof SkerryError && reason.code === "host_unavailable")
    return nameOf(one);
  throw reason;
}
