// Logs of instances of apps: of those that run as their hosts have them now, and of those that are gone as
// the hosts have kept them.

import { sql } from "kysely";
import { CONSOLE_LINES_MAX } from "@skerry/contract/bounds";
import { SkerryError } from "@skerry/contract/errors";
import type { TimedPiece } from "@skerry/contract/host-api/timed-console";
import type { ShownSecret } from "@skerry/contract/vms/secrets";
import type { Context } from "../../context.ts";
import type { Queries } from "../../db/database.ts";
import { hostAddress } from "../../hosts/host-rows.ts";
import { NewestRedactor } from "../../vms/vm-redactor.ts";
import { placedLines, positionOf, type LogPlace, type PlacedLine } from "./log-place.ts";

export interface LoggedInstance {
  readonly machine_id: string;
  readonly app_id: string;
  readonly org_id: string;
  readonly release: number;
  readonly group_name: string;
  readonly number: number;
  readonly host_id: string;
  readonly is_gone: boolean;
  readonly created_at: Date;
  readonly ended_at: Date | null;
  readonly secrets: readonly ShownSecret[] | null;
}

/** Those that run, and those that have ended since then. */
export async function instancesWithLogs(
  db: Queries,
  appId: string,
  since: Date | undefined,
): Promise<LoggedInstance[]> {
  const { rows } = await sql<LoggedInstance>`
    select machine_id, app_id, vms.org_id, release, group_name, number, host_id, secrets,
      false as is_gone, app_instances.created_at, null::timestamptz as ended_at
    from app_instances join vms on vms.id = machine_id where app_id = ${appId}
    union all
    select machine_id, app_id, apps.org_id, release, group_name, number, host_id, secrets, true,
      ended_instances.created_at, ended_at
    from ended_instances join apps on apps.id = app_id
    where app_id = ${appId} and (${since ?? null}::timestamptz is null or ended_at >= ${since ?? null})
    order by machine_id`.execute(db);
  return rows;
}

export function nameOf({ group_name: group, number }: Pick<LoggedInstance, "group_name" | "number">): string {
  return `${group}.${number}`;
}

export interface LogWish {
  /** Lines up to here are left out. */
  readonly after?: LogPlace | undefined;
  /** So many last ones alone; undefined: all. */
  readonly last?: number;
  readonly follow: boolean;
  readonly gone: AbortSignal;
}

/** Throws `host_unavailable` where its host cannot be asked. */
export async function* instanceLines(
  context: Context,
  one: LoggedInstance,
  wish: LogWish,
): AsyncGenerator<PlacedLine> {
  const pieces = await piecesOf(context, one, wish);
  const redactor = new NewestRedactor(context, { ...one, owner_kind: "app", owner_id: one.app_id });
  const { is_gone: isWhole } = one;
  yield* placedLines(pieces, { redactorNow: () => redactor.now(), after: wish.after, isWhole });
}

async function piecesOf(
  context: Context,
  { machine_id: vm, org_id: group, host_id, is_gone }: LoggedInstance,
  { after, last, follow, gone }: LogWish,
): Promise<AsyncIterable<TimedPiece>> {
  const address = await hostAddress(context.db, host_id);
  if (address === undefined) return nothing();
  const client = context.hosts.client(address);
  const lines = last ?? CONSOLE_LINES_MAX;
  const from = last === undefined ? positionOf(after) : undefined;
  const pieces = is_gone
    ? client.keptLogs.read({ group, vm }, gone)
    : client.console(vm, { lines, from, follow }, gone);
  return pieces.catch((error: unknown) => {
    // One that has not begun on its host has printed nothing, a log that is too old is forgotten, and a host
    // of a version before keeps none.
    if (error instanceof SkerryError && ["vm_not_found", "not_found"].includes(error.code)) return nothing();
    throw error;
  });
}

async function* nothing(): AsyncGenerator<TimedPiece> {}
