// Which control plane the hosts of other machines obey. A copy of a control plane, restored from a backup, has the same authority as the
// original, so hosts cannot tell the two apart by it. Each call to such a host names the generation of its control plane, and a host obeys the
// highest that it has heard of. A restored one calls no such host before its operator has said that it is to take over.

import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";

/** So long an operator waits at most until a take-over is known to every replica. */
const REFRESH_MS = 5_000;

export class CommandGeneration implements Disposable {
  readonly #db: Database;
  #current: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Undefined: hosts of other machines are not called. */
  get current(): number | undefined {
    return this.#current;
  }

  async refresh(): Promise<void> {
    this.#current = await readGeneration(this.#db);
  }

  /** Looks again from time to time. Where the database is away, what was known goes on. */
  watch(): this {
    this.#timer = setInterval(() => void this.refresh().catch(() => undefined), REFRESH_MS).unref();
    return this;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

async function readGeneration(db: Database): Promise<number | undefined> {
  const { rows } = await sql<{ generation: number | null }>`
    select generation::float8 as generation from control_plane`.execute(db);
  return rows[0]?.generation ?? undefined;
}

/** What there is of a platform that a backup and its restoring have to know. */
export interface ControlPlane {
  readonly generation: number | null;
  readonly joined_hosts: number;
  readonly organizations: number;
}

export async function describeControlPlane(db: Database): Promise<ControlPlane> {
  const { rows } = await sql<ControlPlane>`
    select generation::float8 as generation,
      (select count(*)::integer from hosts where joined and removed_at is null) as joined_hosts,
      (select count(*)::integer from organizations) as organizations
    from control_plane`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("the table control_plane is empty");
  return row;
}

/** A backup is whole. Returns when, by the database's clock. */
export async function noteBackup(db: Database): Promise<{ readonly last_backup_at: Date }> {
  const { rows } = await sql<{ last_backup_at: Date }>`
    update control_plane set last_backup_at = now() returning last_backup_at`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("the table control_plane is empty");
  return row;
}

/** Null: there was none. */
export async function lastBackupAt(db: Queries): Promise<Date | null> {
  const { rows } = await sql<{ last_backup_at: Date | null }>`
    select last_backup_at from control_plane`.execute(db);
  return rows[0]?.last_backup_at ?? null;
}

/** After a restore: hosts that have joined are left to the control plane that they know. Without any there is none to take them from. */
export async function holdHosts(db: Database): Promise<ControlPlane> {
  await sql`
    update control_plane set generation = null
    where exists (select from hosts where joined and removed_at is null)`.execute(db);
  return describeControlPlane(db);
}

/** From now on the hosts obey this control plane, and refuse every other copy of it. The time is higher than any generation before, also than
 *  that of another copy, which this one cannot know. */
export async function takeOver(db: Database): Promise<ControlPlane> {
  await sql`
    update control_plane
    set generation = greatest(coalesce(generation, 0) + 1, extract(epoch from clock_timestamp())::bigint)`.execute(
    db,
  );
  return describeControlPlane(db);
}
