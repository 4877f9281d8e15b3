// `skerry logs --app`: lines of all instances of an app. With --follow the log is read again and again, so
// that neither a restart of the server nor a deploy ends it.

import { setTimeout as sleep } from "node:timers/promises";
import type { AppLogs, AppLogsQuery, LogLevel } from "@skerry/contract/apps/app-logs";
import { SkerryApiError, SkerryConnectionError, type Skerry } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";
import { given } from "../../input/options.ts";
import { timeMeant } from "../../output/relative-times.ts";
import type { LogFlags } from "../machines/machine-logs.ts";

const AGAIN_MS = 1_000;
/** Hosts note times ten times in a second, and a line may be on its way. */
const OVERLAP_MS = 10_000;

export interface AppLogFlags extends LogFlags {
  readonly app?: string;
  readonly group?: string;
  readonly instance?: string;
  readonly release?: number;
  readonly deploy?: string;
  readonly level?: LogLevel;
}

type Line = AppLogs["lines"][number];

export async function showAppLog(
  cli: Cli,
  client: Skerry,
  { app, flags }: { readonly app: string; readonly flags: AppLogFlags },
): Promise<void> {
  const query = queryOf(flags);
  const first = await client.apps.logs(app, query, { signal: cli.signal });
  if (flags.follow !== true && flags.json === true) return cli.output.json(first);
  const seen = new Seen();
  await print(cli, flags, seen.fresh(first.lines));
  await warn(cli, first);
  if (flags.follow === true) await follow(cli, client, { app, flags, query, seen, from: first.read_at });
}

function queryOf({ lines, grep, since, until, ...flags }: AppLogFlags): AppLogsQuery {
  const { group, instance, release, deploy, level } = flags;
  return given({
    ...{ lines, grep, group, instance, release, deploy, level },
    since: since === undefined ? undefined : timeMeant(since),
    until: until === undefined ? undefined : timeMeant(until),
  });
}

interface Following {
  readonly app: string;
  readonly flags: AppLogFlags;
  readonly query: AppLogsQuery;
  readonly seen: Seen;
  /** When it was read last. */
  readonly from: string;
}

async function follow(cli: Cli, client: Skerry, { app, flags, query, seen, from }: Following): Promise<void> {
  const { lines: _lines, until: _until, ...filter } = query;
  for (let readAt = from; ;) {
    await sleep(AGAIN_MS, undefined, { signal: cli.signal });
    const since = new Date(Date.parse(readAt) - OVERLAP_MS).toISOString();
    const log = await client.apps
      .logs(app, { ...filter, since }, { signal: cli.signal })
      .catch((error: unknown) => againLater(cli, error));
    if (log === undefined) continue;
    await print(cli, flags, seen.fresh(log.lines));
    if (log.unavailable.length === 0) readAt = log.read_at;
  }
}

/** A server that is away comes back; what was printed meanwhile is read then. */
function againLater(cli: Cli, error: unknown): undefined {
  cli.signal.throwIfAborted();
  const isAway =
    error instanceof SkerryApiError ? error.status >= 500 : error instanceof SkerryConnectionError;
  if (!isAway) throw error;
}

/** Lines that were printed: of each machine up to a time, and so many of that time. */
class Seen {
  readonly #byMachine = new Map<string, { at: string; count: number }>();

  fresh(lines: readonly Line[]): Line[] {
    const before = new Map([...this.#byMachine].map(([id, { at, count }]) => [id, { at, left: count }]));
    return lines.filter(({ machine_id: id, at }) => {
      const last = before.get(id);
      const time = at ?? "";
      if (last !== undefined && (time < last.at || (time === last.at && (last.left -= 1) >= 0))) return false;
      this.#note(id, time);
      return true;
    });
  }

  #note(id: string, at: string): void {
    const last = this.#byMachine.get(id);
    if (last?.at === at) last.count += 1;
    else this.#byMachine.set(id, { at, count: 1 });
  }
}

async function print(cli: Cli, { timestamps, json }: AppLogFlags, lines: readonly Line[]): Promise<void> {
  for (const one of lines) {
    if (json === true) await cli.output.jsonLine(one);
    else {
      const time = timestamps === true ? `${one.at ?? "-"} ` : "";
      await cli.output.line(`${one.instance} | ${time}${one.line.replaceAll("\t", "        ")}`);
    }
  }
}

async function warn(cli: Cli, { unavailable }: AppLogs): Promise<void> {
  if (unavailable.length > 0)
    await cli.output.note(`Hosts of ${unavailable.join(", ")} cannot be asked now: their lines are missing.`);
}
