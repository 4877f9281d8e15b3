import { sql } from "kysely";
import type { Database } from "../db/database.ts";
import type { LeaseRun } from "../db/tables/background-tables.ts";

export interface LeaseState {
  readonly name: string;
  readonly running: boolean;
  /** Grows each time that the service is run. */
  readonly token: string;
  /** Who ran it last, or runs it. */
  readonly holder: string;
  readonly due_at: Date;
  readonly last_run_at: Date | null;
  readonly last_run: LeaseRun | null;
}

export async function listLeases(db: Database): Promise<LeaseState[]> {
  const { rows } = await sql<LeaseState>`
    select name, expires_at > now() as running, token, holder, due_at, last_run_at, last_run
    from leases order by name`.execute(db);
  return rows;
}
