// A database whose clock is set. The machine's clock is left alone: that each stored time becomes older by as
// much is the same, seen from the database, and the monotonic clock of control then lags behind by as much.

import { sql } from "kysely";
import type { Database } from "../../src/db/database.ts";
import { ClockWatch } from "../../src/platform/clock-watch.ts";
import { World } from "./world.ts";

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const YEAR_MS = 365 * DAY_MS;

export class SteppedClock {
  readonly #world: World;
  #lagMs = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** The watch of a replica that starts now. `aheadMs`: how far its monotonic clock is ahead of others;
   *  negative: its machine was suspended. */
  newReplica(aheadMs = () => 0): ClockWatch {
    return new ClockWatch(this.#world.context, () => performance.now() - this.#lagMs + aheadMs());
  }

  /** PostgreSQL's clock is set forward, or back where it is negative. */
  async step(ms: number): Promise<void> {
    await ageAll(this.#world.db, ms);
    this.#lagMs += ms;
    await this.#world.keepHostsFresh();
  }

  /** So much time passes, by every clock. */
  async pass(ms: number): Promise<void> {
    await ageAll(this.#world.db, ms);
  }

  /** Steps that control has written down, in minutes. */
  async steps(): Promise<number[]> {
    const { rows } = await sql<{ minutes: number }>`
      select round(stepped_ms / 60000.0)::integer as minutes from clock_eras order by number offset 1`.execute(
      this.#world.db,
    );
    return rows.map(({ minutes }) => minutes);
  }

  /** Minutes from the end that the sandbox had when it began to run to the one that it has. */
  async shifted(id: string): Promise<number | undefined> {
    const { rows } = await sql<{ minutes: number }>`
      select round((extract(epoch from expires_at - started_at) - timeout_ms / 1000.0) / 60)::integer as minutes
      from sandboxes where id = ${id}`.execute(this.#world.db);
    return rows[0]?.minutes;
  }
}

/** A world whose clock can be set, and a replica of control that has looked at the clock once. The caller
 *  disposes of the world. */
export async function openStepped(): Promise<{
  readonly world: World;
  readonly clock: SteppedClock;
  readonly replica: ClockWatch;
}> {
  const world = await World.open();
  const clock = new SteppedClock(world);
  const replica = clock.newReplica();
  await replica.look();
  await world.keepHostsFresh();
  return { world, clock, replica };
}

/** Makes each time of each row older. No trigger hears of it. */
async function ageAll(db: Database, ms: number): Promise<void> {
  const { rows } = await sql<{ table: string; columns: string[] }>`
    select table_name as table, array_agg(column_name::text) as columns from information_schema.columns
    join information_schema.tables using (table_schema, table_name)
    where table_schema = 'public' and table_type = 'BASE TABLE' and data_type = 'timestamp with time zone' group by 1`.execute(
    db,
  );
  await db.transaction().execute(async (transaction) => {
    await sql`set local session_replication_role = replica`.execute(transaction);
    for (const { table, columns } of rows) {
      const older = columns.map(
        (column) => sql`${sql.ref(column)} = ${sql.ref(column)} - ${ms}::float8 * interval '1 millisecond'`,
      );
      await sql`update ${sql.table(table)} set ${sql.join(older)}`.execute(transaction);
    }
    await sql`update usage_samples set minute = minute - ${Math.floor(ms / 60_000)}::integer`.execute(
      transaction,
    );
  });
}
