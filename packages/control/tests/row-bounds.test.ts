// What bounds the rows of an organization holds: with as many as there may be, the next one is refused, or takes the place of the oldest one.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import { firstIdAt } from "@skerry/contract/ids";
import { forgetOldEvents } from "../src/audit/audit-store.ts";
import { expiredRowsSweeper } from "../src/platform/expired-rows-sweeper.ts";
import { ENTRIES_MAX, keepWithinBudgets } from "../src/builds/cache-store.ts";
import { TEMPLATES_MAX } from "../src/capacity/build-quota.ts";
import { addChunk } from "../src/e2b/template-store.ts";
import { MEMBERS_MAX } from "../src/organizations/members.ts";
import { FAILED_MAX } from "../src/sandboxes/ended-sandboxes.ts";
import { builtTemplate, newBuild } from "./support/builds.ts";
import { Members } from "./support/members.ts";
import { endingsIn } from "./support/row-endings.ts";
import { rowBounds, TABLE_MAX_BYTES } from "./support/row-bounds.ts";
import { tableSizes } from "./support/table-sizes.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld({ buildCacheGib: 10 });
const BEYOND = 20;

afterEach(async () => {
  for (const table of ["sandboxes", "machines", "snapshots", "builds", "e2b_builds", "e2b_archive_chunks"])
    await sql`delete from ${sql.table(table)}`.execute(world.db);
  world.host.vms.clear();
});

async function sweep(): Promise<void> {
  const sweeper = expiredRowsSweeper(world.context, 1_000);
  while ((await sweeper.activate(new AbortController().signal)).more === true) continue;
}

async function count(table: string, which = sql`true`): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from ${sql.table(table)} where ${which}`.execute(world.db);
  return rows[0]?.count ?? 0;
}

interface Copies {
  /** Of which row. */
  readonly which?: ReturnType<typeof sql>;
  readonly since: string;
  /** The column that no two rows have the same in. */
  readonly own: string;
  readonly copies: number;
  /** Rows that one statement copies: it has a deadline. */
  readonly atOnce?: number;
}

/** Prefixes of the ids of copies: the id of a VM tells its kind. */
const PREFIXES: Readonly<Record<string, string>> = { sandboxes: "sbx_", machines: "mch_" };
const idOfCopy = (table: string, number: number | string) => `${PREFIXES[table] ?? ""}copy_${number}`;

/** Each is a second older than the one before, and the youngest two hours old. */
async function copy(
  table: string,
  { which = sql`true`, since, own, copies, atOnce = 2_000 }: Copies,
): Promise<void> {
  const digest = sql`jsonb_build_object('secret_sha256', '\\x' || md5(n::text))`;
  const { rows } = await sql<{ name: string }>`
    select column_name as name from information_schema.columns
    where table_name = ${table} and column_name <> 'ctid'`.execute(world.db);
  const columns = sql.join(rows.map(({ name }) => sql.ref(name)));
  // A statement has a deadline, and a trigger that hears of each row.
  for (let from = 1; from <= copies; from += atOnce) {
    const numbers = sql`generate_series(${from}::integer, ${Math.min(copies, from + atOnce - 1)}::integer)`;
    await sql`
    insert into ${sql.table(table)} (${columns})
    select ${columns} from (
      select made.*
      from (select * from ${sql.table(table)} where ${which} limit 1) t, ${numbers} n,
        jsonb_populate_record(null::${sql.table(table)}, to_jsonb(t) || jsonb_build_object(
          ${sql.lit(own)}, ${idOfCopy(table, "")}::text || n,
          ${sql.lit(since)}, now() - interval '2 hours' - n * interval '1 second'
        ) || ${table === "api_tokens" ? digest : sql`'{}'`}) made
    ) copies`.execute(world.db);
  }
}

const endings = endingsIn(world);

const ruled = Object.entries(rowBounds).flatMap(([table, bound]) =>
  bound?.kept === undefined ? [] : [[table, bound.kept] as const],
);

test.each(ruled)(
  "of %s that are over the newest are kept, and another organization's are its own",
  async (table, { rowsMax }) => {
    const ending = endings[table];
    if (ending === undefined) throw new Error(`nothing here makes rows of ${table} that are over`);
    const { isOver, since, own = "id" } = await ending();
    await sql`insert into organizations (id, name) values ('org_other', 'other') on conflict do nothing`.execute(
      world.db,
    );
    await copy(table, { which: isOver, since, own, copies: rowsMax + BEYOND });
    await sql`
    update ${sql.table(table)} set org_id = 'org_other'
    where ${sql.ref(own)} = ${idOfCopy(table, rowsMax + BEYOND)}`.execute(world.db);
    await sweep();
    expect(await count(table, sql`org_id = ${world.orgId} and ${isOver}`)).toBe(rowsMax);
    expect(await count(table, sql`org_id = 'org_other'`)).toBe(1);
    await sql`delete from ${sql.table(table)} where ${isOver}`.execute(world.db);
  },
  120_000,
);

test("what they are filled with is bounded, too", async () => {
  await endings["sandboxes"]?.();
  const bytes = 1024 * 1024;
  await sql`
    update sandboxes set metadata = jsonb_build_object('large', (
      select string_agg(md5(random()::text), '') from generate_series(1, ${bytes / 32}::integer)))`.execute(
    world.db,
  );
  const bound = rowBounds["sandboxes"]?.kept?.bytesMax ?? 0;
  await copy("sandboxes", { since: "destroyed_at", own: "id", copies: bound / bytes + BEYOND, atOnce: 16 });
  await sweep();
  const left = await count("sandboxes");
  expect(left).toBeGreaterThan(bound / bytes / 2);
  expect(left * bytes).toBeLessThanOrEqual(bound);
}, 120_000);

test("a bound of each table is one that an operator can live with", async () => {
  for (const [table, { rows, rowBytes, moreBytes = 0, isLarge }] of bounds())
    if (isLarge === undefined)
      expect([table, rows * rowBytes + moreBytes <= TABLE_MAX_BYTES]).toEqual([table, true]);
});

test("rows are no larger than their bounds are reckoned with", async () => {
  await builtTemplate(world);
  await newBuild(world, { context: true });
  const { id } = await world.createSandbox({ mode: "persistent" });
  await world.createMachine();
  await world.call("POST", `/v1/sandboxes/${id}/snapshots`, { body: {} });
  await world.call("POST", "/e2b/v3/templates", { body: { name: "asked" } });
  await world.call("PUT", "/v1/registry-credentials/a.example", {
    body: { username: "me", password: "secret" },
  });
  const sizes = await tableSizes(world.db);
  const seen = bounds().filter(([table]) => (sizes.get(table)?.rows ?? 0) > 0);
  expect(seen.length).toBeGreaterThan(15);
  for (const [table, { rowBytes, moreBytes = 0 }] of seen) {
    const { rows, bytes } = sizes.get(table) ?? { rows: 0, bytes: 0 };
    expect([table, bytes / rows <= rowBytes + (moreBytes > 0 ? 10_000 : 0)]).toEqual([table, true]);
  }
});

function bounds() {
  return Object.entries(rowBounds).flatMap(([table, bound]) =>
    bound === undefined ? [] : [[table, bound] as const],
  );
}

test("the log of a VM has 500 events at most, 30 once it is destroyed, and goes with its row", async () => {
  const { id } = await world.createSandbox();
  await sql`
    select tell_vm_event(${world.orgId}, ${id}, 'paused', 'x', now(), 1) from generate_series(1, 1000)`.execute(
    world.db,
  );
  expect(await count("vm_events", sql`vm_id = ${id}`)).toBe(500);
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  expect(await count("vm_events", sql`vm_id = ${id}`)).toBe(30);
  await sql`update sandboxes set destroyed_at = now() - interval '31 days'`.execute(world.db);
  await sweep();
  expect(await count("vm_events", sql`vm_id = ${id}`)).toBe(0);
});

test("a sandbox that a silent host may still have keeps its row", async () => {
  const { id } = await world.createSandbox();
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  await sql`update sandboxes set destroyed_at = now() - interval '31 days', host_lost = true`.execute(
    world.db,
  );
  await sweep();
  expect(await count("sandboxes")).toBe(1);
});

test("of sandboxes that have failed the newest are shown until their time is over", async () => {
  const { id } = await world.createSandbox({ timeout: "1h" });
  await copy("sandboxes", { since: "created_at", own: "id", copies: FAILED_MAX + BEYOND });
  await sql`update sandboxes set status = 'failed' where id <> ${id}`.execute(world.db);
  await sweep();
  expect(await count("sandboxes", sql`status = 'failed' and expires_at > now()`)).toBe(FAILED_MAX);
  expect(await count("sandboxes", sql`status = 'running' and expires_at > now()`)).toBe(1);
});

test("an organization has a bounded number of members, and who is removed is forgotten with the last token", async () => {
  const members = new Members(world);
  const { user_id } = await members.newMember("viewer");
  const used = await count("memberships", sql`org_id = ${world.orgId}`);
  await sql`insert into users (id, name) select 'usr_' || n, 'user ' || n from generate_series(1, ${MEMBERS_MAX - used}::integer) n`.execute(
    world.db,
  );
  await sql`
    insert into memberships (org_id, user_id, role)
    select ${world.orgId}, 'usr_' || n, 'viewer' from generate_series(1, ${MEMBERS_MAX - used}::integer) n`.execute(
    world.db,
  );
  const refused = await members.add({ name: "one more", role: "viewer" });
  expect([refused.status, refused.body["code"]]).toEqual([403, "quota_exceeded"]);
  await sql`delete from memberships where user_id not like 'usr\\_0%' and length(user_id) < 10`.execute(
    world.db,
  );
  expect((await members.remove(world.token, user_id)).status).toBe(204);
  await sweep();
  expect(await count("users", sql`id = ${user_id}`)).toBe(1);
  await sql`update api_tokens set revoked_at = now() - interval '31 days' where user_id = ${user_id}`.execute(
    world.db,
  );
  await sweep();
  expect(await count("users", sql`id = ${user_id}`)).toBe(0);
  expect((await members.add({ user_id, role: "viewer" })).body["code"]).toBe("user_not_found");
});

test("an organization has a bounded number of versions of templates, also of those that take no room", async () => {
  await builtTemplate(world, { name: "many" });
  await copy("templates", {
    which: sql`status = 'ready'`,
    since: "created_at",
    own: "id",
    copies: TEMPLATES_MAX - 1,
  });
  const refused = await world.call("POST", "/v1/templates", {
    body: { name: "more", steps: [{ run: "make more" }] },
  });
  expect([refused.status, refused.body["code"]]).toEqual([403, "quota_exceeded"]);
  await sql`delete from templates where id like 'copy%'`.execute(world.db);
  await newBuild(world, { name: "more", steps: [{ run: "make more" }] });
});

test("entries of the build cache are bounded by their number where they have no bytes", async () => {
  await sql`
    insert into build_cache (id, org_id, host_id, key, kind, name, status)
    select 'tpl_' || n, ${world.orgId}, hosts.id, n::text, 'run', 'x', 'ready'
    from hosts, generate_series(1, ${ENTRIES_MAX.org_id + BEYOND}) n`.execute(world.db);
  await keepWithinBudgets(world.db, { buildCacheGib: 10, buildCacheHostGib: 10 });
  expect(await count("build_cache", sql`status = 'ready'`)).toBe(ENTRIES_MAX.org_id);
  await sql`delete from build_cache`.execute(world.db);
});

test("archives of E2B's clients are bounded by their number, too", async () => {
  await sql`
    insert into e2b_archive_chunks (upload, org_id, index, content)
    select 'u', ${world.orgId}, n, 'x' from generate_series(1, 10000) n`.execute(world.db);
  const chunk = { orgId: world.orgId, upload: "more", index: 0, content: Buffer.from("x") };
  expect(await addChunk(world.db, chunk, 1_000_000_000)).toBe(false);
});

test("of audit events that are older than 30 days the newest are kept, and of younger ones all", async () => {
  const old = firstIdAt("audit", Date.now() - 40 * 86_400_000).slice(0, -4);
  await sql`
    insert into audit_events (id, org_id, at, action, resource_kind, outcome)
    select ${old} || lpad(n::text, 4, '0'), ${world.orgId}, now() - interval '40 days', 'sandbox.create', 'sandbox', 'success'
    from generate_series(1, 50) n`.execute(world.db);
  const young = await count("audit_events", sql`at > now() - interval '30 days'`);
  const forget = () => forgetOldEvents(world.db, { orgId: world.orgId, kept: 30, limit: 15 });
  expect([await forget(), await forget(), await forget()]).toEqual([15, 5, 0]);
  expect(await count("audit_events", sql`at < now() - interval '30 days'`)).toBe(30);
  expect(await count("audit_events", sql`at > now() - interval '30 days'`)).toBe(young);
});

test("the rate buckets of a token that has ended are forgotten before a day is over", async () => {
  const { body } = await world.call<{ id: string; token: string }>("POST", "/v1/auth/tokens", { body: {} });
  await world.call("GET", "/v1/sandboxes", { token: body.token });
  const buckets = () => count("rate_buckets", sql`token_id = ${body.id}`);
  await sql`update rate_buckets set refilled_at = now() - interval '1 hour'`.execute(world.db);
  await sweep();
  expect(await buckets()).toBe(1);
  await world.call("DELETE", `/v1/auth/tokens/${body.id}`);
  await sweep();
  expect(await buckets()).toBe(0);
});

test("labels of a VM are bounded together", async () => {
  const metadata = Object.fromEntries(
    Array.from({ length: 17 }, (_, n) => [`label ${n}`, "x".repeat(1_000)]),
  );
  const refused = await world.call("POST", "/v1/sandboxes", { body: { template: "base", metadata } });
  expect([refused.status, refused.body["code"]]).toEqual([400, "bad_request"]);
});
