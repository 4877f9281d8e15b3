// Changes of an app's environment that wait for its next deploy. The release of that takes them over. Where
// it does not get to be live, or does not stay so, they wait again: a deploy that failed, or that a later one
// superseded within a second, would lose them otherwise.

import { sql } from "kysely";
import type { App } from "@skerry/contract/apps/app";
import type { Queries } from "../../db/database.ts";
import { checkEnv } from "../../values/check-env.ts";
import type { EnvChanges } from "../app-tables.ts";
import { changeApp, type AppRow, type DeployRow } from "../app-store.ts";

/** Adds to those that wait already. The app is locked. Throws `invalid_env`. */
export async function stage(
  transaction: Queries,
  { id, staged_env: before }: Pick<AppRow, "id" | "staged_env">,
  changes: EnvChanges,
): Promise<void> {
  const staged = { ...before, ...changes };
  // Those that are taken away have names and a number, too.
  checkEnv(Object.fromEntries(Object.entries(staged).map(([name, value]) => [name, value ?? ""])));
  await changeApp(transaction, id, { staged_env: staged });
}

export function withChanges(
  env: Readonly<Record<string, string>>,
  changes: EnvChanges,
): Record<string, string> {
  const kept = Object.entries(env).filter(([name]) => !Object.hasOwn(changes, name));
  const set = Object.entries(changes).flatMap(([name, value]) =>
    value === null ? [] : [[name, value] as const],
  );
  return Object.fromEntries([...kept, ...set]);
}

export function shownStaged({ staged_env: staged }: Pick<AppRow, "staged_env">): App["staged_variables"] {
  const names = Object.keys(staged).toSorted();
  return {
    set: names.filter((name) => staged[name] !== null),
    unset: names.filter((name) => staged[name] === null),
  };
}

/** A release has these; what was staged after they were read waits on. The app is locked. */
export async function takeOver(transaction: Queries, deploy: DeployRow, taken: EnvChanges): Promise<void> {
  const text = JSON.stringify(taken);
  await sql`
    update apps set staged_env = coalesce((
      select jsonb_object_agg(key, value) from jsonb_each(staged_env)
      where (${text}::jsonb -> key) is distinct from value), '{}')
    where id = ${deploy.app_id} and staged_env <> '{}'`.execute(transaction);
  await sql`
    update deploys set staged_env = case when id = ${deploy.id} then nullif(${text}::jsonb, '{}') end
    where app_id = ${deploy.app_id} and (id = ${deploy.id} or staged_env is not null)
      and (watched_until is null or watched_until <= now())`.execute(transaction);
}

/** Those of a deploy that is over wait again, but for names that were staged anew. The app is locked. */
export async function giveBack(
  transaction: Queries,
  { id, app_id: appId }: Pick<DeployRow, "id" | "app_id">,
): Promise<void> {
  await sql`
    with given as (select staged_env from deploys where id = ${id} and staged_env is not null)
    update apps set staged_env = given.staged_env || apps.staged_env from given where apps.id = ${appId}`.execute(
    transaction,
  );
  await sql`update deploys set staged_env = null where id = ${id} and staged_env is not null`.execute(
    transaction,
  );
}
