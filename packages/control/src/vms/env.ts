// The environment of a sandbox or a machine, which may hold secrets. Its values are shown to callers who could read them inside as well, kept in
// no other place than the row, and erased there when its destruction begins. Names stay.

import { sql } from "kysely";
import type { Caller } from "../caller.ts";
import type { Database } from "../db/database.ts";
import type { VmKind } from "./vm-kind.ts";

/** Null: a value that the caller may not see, or that is erased. */
export type ShownEnv = Readonly<Record<string, string | null>>;

export function mayReadEnv({ scopes }: Caller, table: VmKind["table"]): boolean {
  // Scopes of a caller are within what its role is good for.
  return scopes.has(`${table}:execute`);
}

export function withoutValues(env: ShownEnv): ShownEnv {
  return Object.fromEntries(Object.keys(env).map((name) => [name, null]));
}

/** For its host. Throws where it is erased: then the VM is being destroyed, and must not be started. */
export function wholeEnv(env: ShownEnv): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => {
      if (value === null) throw new Error("the environment of a VM that is to start was erased");
      return [name, value];
    }),
  );
}

/** For an update of a row. */
export const erasedEnv = sql<string>`(
  select coalesce(jsonb_object_agg(name, null::text), '{}') from jsonb_object_keys(env) as name)`;

/** Up to `limit` rows that a version of Skerry has left behind which erased nothing; returns how many. */
export async function eraseLeftEnv(db: Database, limit: number): Promise<number> {
  const { rows } = await sql`
    update vms set env = ${erasedEnv}
    where id = any(array(
      select id from vms
      where status in ('destroying', 'destroyed') and jsonb_path_exists(env, '$.* ? (@ != null)')
      limit ${limit} for update skip locked
    ))
    returning 1`.execute(db);
  return rows.length;
}
