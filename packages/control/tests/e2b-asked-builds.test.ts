// What E2B's clients have asked to be built is bounded for each organization, whatever they send or leave out.

import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { beforeEach, expect, test } from "vitest";
import { keptAskedBuilds, sweepAskedBuilds } from "../src/e2b/sweep-asked-builds.ts";
import { OPEN_MAX } from "../src/e2b/template-store.ts";
import { builtTemplate } from "./support/builds.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
beforeEach(() => sql`delete from e2b_builds`.execute(world.db));

interface Asked {
  readonly templateID: string;
  readonly buildID: string;
}

const ask = (name = "junk") =>
  world.call<Asked & { message: string }>("POST", "/e2b/v3/templates", { body: { name } });

const send = ({ templateID, buildID }: Asked, body: unknown) =>
  world.call<{ message: string }>("POST", `/e2b/v2/templates/${templateID}/builds/${buildID}`, { body });

const text = (bytes: number) => randomBytes(bytes / 2).toString("hex");

const stepsOf = (bytes: number, type: string) => ({
  steps: Array.from({ length: bytes / 4096 }, () => ({ type, args: [text(4_000)] })),
});

async function rows(): Promise<{ count: number; bytes: number }> {
  const { rows: found } = await sql<{ count: number; bytes: number }>`
    select count(*)::integer as count, coalesce(sum(pg_column_size(e2b_builds.*)), 0)::integer as bytes
    from e2b_builds`.execute(world.db);
  return found[0] ?? { count: 0, bytes: 0 };
}

const AT_ONCE = 50;

/** Writes as many as were asked for before, the youngest of them so long ago. */
async function askedBefore(
  count: number,
  {
    hours = 2,
    body = null,
    orgId = world.orgId,
  }: { hours?: number; body?: string | null; orgId?: string } = {},
): Promise<void> {
  // A statement has a deadline, and bodies may be large.
  for (let from = 1; from <= count; from += AT_ONCE)
    await sql`
    insert into e2b_builds (id, org_id, name, tags, body, fault, created_at)
    select 'bld_' || gen_random_uuid(), ${orgId}, 'junk', '[]', ${body}::jsonb,
      case when ${body}::text is null then null else '{"message": "", "instruction": null}'::jsonb end,
      now() - ${hours} * interval '1 hour' - n * interval '1 second'
    from generate_series(${from}::integer, ${Math.min(count, from + AT_ONCE - 1)}::integer) n`.execute(
      world.db,
    );
}

test("builds without steps are refused beyond a number, with what to do, and one whose steps came makes room", async () => {
  await askedBefore(OPEN_MAX - 1, { hours: 0 });
  const last = (await ask()).body;
  const refused = await ask();
  expect(refused.status).toBe(429);
  expect(refused.body).toEqual({
    code: 429,
    message: expect.stringMatching(/wait for their steps.*forgotten after an hour/s) as string,
  });
  expect((await rows()).count).toBe(OPEN_MAX);
  expect((await send(last, { steps: [{ type: "NOPE" }] })).status).toBe(202);
  expect((await ask()).status).toBe(202);
});

test("requests at the same moment do not go over the number together", async () => {
  await askedBefore(OPEN_MAX - 2, { hours: 0 });
  const statuses = (await Promise.all(Array.from({ length: 8 }, () => ask()))).map(({ status }) => status);
  expect(statuses.filter((status) => status === 202)).toHaveLength(2);
});

test("another organization's builds count for that one alone", async () => {
  await sql`insert into organizations (id, name) values ('org_other', 'other')`.execute(world.db);
  await askedBefore(OPEN_MAX, { hours: 0, orgId: "org_other" });
  expect((await ask()).status).toBe(202);
});

test("a build without steps is forgotten after an hour", async () => {
  await askedBefore(OPEN_MAX);
  expect((await ask()).status).toBe(202);
  expect((await rows()).count).toBe(1);
  await askedBefore(5);
  expect(await sweepAskedBuilds(world.db, world.orgId, 1_000)).toBe(5);
});

test("of steps that cannot be translated only the fault is kept, and they cannot come again", async () => {
  const asked = (await ask()).body;
  const body = stepsOf(100 * 1024, "NOPE");
  expect((await send(asked, body)).status).toBe(202);
  expect((await rows()).bytes).toBeLessThan(1_000);
  const status = await world.call<{ status: string; reason: { message: string; step: string } }>(
    "GET",
    `/e2b/templates/${asked.templateID}/builds/${asked.buildID}/status`,
  );
  expect(status.body).toMatchObject({
    status: "error",
    reason: { message: 'There is no instruction "NOPE" here.', step: "1" },
  });
  expect((await send(asked, body)).status).toBe(409);
  // Found wrong later, by what the native build says of it.
  const other = (await ask()).body;
  expect((await send(other, { ...stepsOf(100 * 1024, "RUN"), fromTemplate: "not-there" })).status).toBe(202);
  expect((await rows()).bytes).toBeLessThan(2_000);
});

test("steps that are larger than a template needs are refused, with what to do", async () => {
  const asked = (await ask()).body;
  const refused = await send(asked, stepsOf(140 * 1024, "RUN"));
  expect(refused.status).toBe(413);
  expect(refused.body.message).toMatch(/larger than 131072 bytes.*into a file that a step copies/s);
  // Nothing has come, so smaller ones may.
  expect((await send(asked, { steps: [{ type: "RUN", args: ["true"] }] })).status).toBe(202);
  const native = await world.call("POST", "/v1/templates", {
    body: { name: "large", steps: Array.from({ length: 10 }, () => ({ run: text(30_000) })) },
  });
  expect(native.status).toBe(413);
});

test("the newest are kept, and what a template stands on", async () => {
  const { id: build_id } = await builtTemplate(world, { name: "stays", steps: [{ run: "make" }] });
  await sql`
    insert into e2b_builds (id, org_id, name, tags, body, created_at)
    values (${build_id}, ${world.orgId}, 'stays', '[]', '{}', now() - interval '90 days')`.execute(world.db);
  await askedBefore(keptAskedBuilds.rowsMax + 10, { body: "{}" });
  expect((await ask()).status).toBe(202);
  // The one that was asked for last came after the others were counted.
  expect((await rows()).count).toBe(keptAskedBuilds.rowsMax + 2);
  const kept = await sql`select 1 from e2b_builds where id = ${build_id}`.execute(world.db);
  expect(kept.rows).toHaveLength(1);
});

test("the steps of all builds together have a bound, too", async () => {
  const bytes = 200 * 1024;
  const fitting = Math.floor(keptAskedBuilds.bytesMax / bytes);
  await askedBefore(fitting + 10, {
    body: JSON.stringify({ startCmd: randomBytes(bytes / 2).toString("hex") }),
  });
  await sweepAskedBuilds(world.db, world.orgId, 1_000);
  const { count } = await rows();
  expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThan(fitting + 10);
  expect((await rows()).bytes).toBeLessThanOrEqual(keptAskedBuilds.bytesMax + 1_000 * count);
  expect(await sweepAskedBuilds(world.db, world.orgId, 1_000)).toBe(0);
});
