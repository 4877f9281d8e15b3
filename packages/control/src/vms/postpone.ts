// Attempts of VM cleanup to bring a sandbox, a machine or a snapshot to its desired state, where one of them
// has failed.

import { kindOf } from "@skerry/contract/ids";
import { sql } from "kysely";
import { backoff } from "../db/backoff.ts";
import type { Database } from "../db/database.ts";
import { isAhead } from "../db/clock-set-back.ts";
import { saidBy, withFailure } from "../db/host-failure.ts";
import type { Context } from "../context.ts";
import { isOfHost } from "../host-client/host-errors.ts";

/** Longest pause between two attempts at a stuck VM, in seconds. */
export const RETRY_MAX_S = 60;

/** Attempts at what either ends well or is given up: about three minutes. A host that is away is none of them. */
export const TRIES_MAX = 8;

/** What failed is not due for its next attempt yet. */
export const isPostponed = isAhead("retry_at", RETRY_MAX_S * 1_000);

/** A row as it was before the attempt. */
export interface Tried {
  readonly id: string;
  readonly status: string;
  /** Those in its status that have failed before this one. */
  readonly attempts: number;
}

/** The attempt has failed, and there is another one later. What is worth a line in the log was written there.
 *  */
export class Postponed extends Error {
  override readonly name = "Postponed";
}

/**
 * Does the work. Where it fails, the next attempt comes later and later, so that a stuck VM does not hide the
 * others. The row says what its host says; the log says it once. Where the host has answered the last of
 * `TRIES_MAX` attempts with an error as well, `giveUp` says what becomes of the row.
 */
export async function orPostpone(
  context: Context,
  row: Tried,
  work: () => Promise<void>,
  giveUp?: (said: string) => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const isOver = row.attempts + 1 >= TRIES_MAX && isOfHost(error);
    if (giveUp !== undefined && isOver) {
      context.log.error(
        factsOf(row, error),
        `a host has failed at ${nounOf(row)} too often, and is asked no more`,
      );
      return giveUp(saidBy(error));
    }
    if (row.attempts === 0) tellFailure(context, row, error);
    await postpone(context.db, row, { error });
    throw new Postponed(`${nounOf(row)} waits for its next attempt`, { cause: error });
  }
}

/** Ends a microVM that no row wants. The row of its sandbox or machine, where there is one, is at rest and
 *  counts the attempts. */
export async function endUnwanted(
  context: Context,
  { vm, row }: { readonly vm: { readonly id: string }; readonly row?: Tried },
  what: string,
  end: () => Promise<void>,
): Promise<void> {
  if (row === undefined || row.attempts === 0) context.log.warn({ vm_id: vm.id }, what);
  return row === undefined ? end() : orPostpone(context, row, end);
}

/** The first attempt, by the request itself, has failed: VM cleanup makes the next one at once. Never
 *  rejects. */
export async function leaveToCleanup(context: Context, row: Tried, error: unknown): Promise<void> {
  tellFailure(context, row, error);
  await postpone(context.db, row, { error, isAtOnce: true }).catch((failure: unknown) =>
    context.log.warn(factsOf(row, failure), "an attempt that failed could not be noted down"),
  );
  context.wake("vm-cleanup");
}

function tellFailure({ log }: Context, row: Tried, error: unknown): void {
  log.warn(factsOf(row, error), `a host has failed at ${nounOf(row)}, and is asked again`);
}

function nounOf({ id }: Tried): string {
  return kindOf(id) === "snapshot" ? "a snapshot" : "a VM";
}

function factsOf({ id, status }: Tried, error: unknown): object {
  return { err: error, ...(kindOf(id) === "snapshot" ? { snapshot_id: id } : { vm_id: id }), status };
}

/** Statuses in which `reason` tells that the host fails. */
const onTheWay: readonly string[] = [
  ...["pausing", "resuming", "stopping", "destroying"],
  // Of a snapshot, whose host may still have it after its end.
  ...["deleting", "deleted"],
];

interface Postponement {
  /** Error of the attempt; undefined where it is still under way. */
  readonly error?: unknown;
  readonly isAtOnce?: boolean;
}

/** The next attempt comes after 2, 4, 8 … 60 s. What is still under way alone never comes to the last
 *  attempt. */
export async function postpone(
  db: Database,
  { id, status }: { readonly id: string; readonly status: string },
  { error, isAtOnce = false }: Postponement,
): Promise<void> {
  const attempts =
    error === undefined
      ? sql<number>`greatest(attempts, least(attempts + 1, ${TRIES_MAX - 2}::integer))`
      : sql<number>`attempts + 1`;
  const isTold = error !== undefined && onTheWay.includes(status);
  await sql`
    update ${kindOf(id) === "snapshot" ? sql`snapshots` : sql`vms`} set
      attempts = ${attempts},
      retry_at = now() + ${isAtOnce ? sql`interval '0'` : backoff(sql`attempts + 1`, RETRY_MAX_S)},
      reason = ${isTold ? withFailure(saidBy(error)) : sql`reason`}
    where id = ${id} and status = ${status}`.execute(db);
}
