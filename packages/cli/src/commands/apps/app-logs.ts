// `skerry logs --app`: lines of all instances of an app. With --follow neither a restart of the server nor a
// deploy ends it.

import type {
  AppLogLine,
  AppLogs,
  AppLogsQuery,
  AppLogsSynced,
  LogLevel,
} from "@skerry/contract/apps/app-logs";
import type { Skerry } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";
import { given } from "../../input/options.ts";
import { timeMeant } from "../../output/relative-times.ts";
import type { LogFlags } from "../machines/machine-logs.ts";

export interface AppLogFlags extends LogFlags {
  readonly app?: string;
  readonly group?: string;
  readonly instance?: string;
  readonly release?: number;
  readonly deploy?: string;
  readonly level?: LogLevel;
}

export async function showAppLog(
  cli: Cli,
  client: Skerry,
  { app, flags }: { readonly app: string; readonly flags: AppLogFlags },
): Promise<void> {
  const query = queryOf(flags);
  if (flags.follow === true) return follow(cli, client, { app, flags, query });
  const log = await client.apps.logs(app, { ...query, signal: cli.signal });
  if (flags.json === true) return cli.output.json(log);
  for (const line of log.lines) await print(cli, flags, line);
  await warn(cli, log);
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
}

async function follow(cli: Cli, client: Skerry, { app, flags, query }: Following): Promise<void> {
  let warned = "";
  const onSynced = (synced: AppLogsSynced) => {
    const away = synced.unavailable.join(", ");
    if (away !== "" && away !== warned) void warn(cli, synced);
    warned = away;
  };
  for await (const line of client.apps.followLogs(app, { ...query, onSynced, signal: cli.signal }))
    await print(cli, flags, line);
}

async function print(cli: Cli, { timestamps, json }: AppLogFlags, one: AppLogLine): Promise<void> {
  if (json === true) return cli.output.jsonLine(one);
  const time = timestamps === true ? `${one.at ?? "-"} ` : "";
  await cli.output.line(`${one.instance} | ${time}${one.line.replaceAll("\t", "        ")}`);
}

async function warn(cli: Cli, { unavailable }: Pick<AppLogs, "unavailable">): Promise<void> {
  if (unavailable.length > 0)
    await cli.output.note(`Hosts of ${unavailable.join(", ")} cannot be asked now: their lines are missing.`);
}
