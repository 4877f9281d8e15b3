// This version serves while a newer one has migrated the database already.

import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { expect, test } from "vitest";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { World } from "./support/world.ts";

/** So often that PostgreSQL has settled for a plan. */
const TIMES = 8;

async function useAll(world: World): Promise<void> {
  for (let time = 0; time < TIMES; time += 1) {
    const answer = await world.call<Sandbox>("POST", "/v1/sandboxes", {
      body: { template: "base" },
      headers: { "idempotency-key": randomUUID() },
    });
    expect(answer.status, answer.text).toBe(201);
    const path = `/v1/sandboxes/${answer.body.id}`;
    expect((await world.call<Sandbox>("GET", path)).body).toEqual(answer.body);
    expect((await world.call("DELETE", path)).status).toBe(204);
  }
}

test("columns that a newer version adds while this one serves change no answer", async () => {
  await using world = await World.open();
  await useAll(world);
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = 'public'`.execute(world.db);
  expect(rows.length).toBeGreaterThan(10);
  for (const { name } of rows)
    await sql`alter table ${sql.table(name)} add column of_a_newer_version integer default 7`.execute(
      world.db,
    );
  await useAll(world);
});
