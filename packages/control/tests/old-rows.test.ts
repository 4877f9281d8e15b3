// Rows of earlier versions, after the migrations that change what such rows mean.

import { sql, type RawBuilder } from "kysely";
import { expect, test } from "vitest";
import type { Database } from "../src/db/database.ts";
import { migrated } from "./support/empty-database.ts";

const base = `
insert into organizations (id, name) values ('org_1', 'one');
insert into hosts (id, name, address, status, cpus, memory_mib, templates, facts, last_heartbeat)
values ('hst_1', 'h', '/h', 'online', 2, 2048, '[]', '{}', '2026-01-01Z');`;

interface Old {
  readonly id: string;
  readonly name?: string | null;
  readonly status?: string;
  readonly egress?: object;
}

const common = ({ id, name = null, status = "running", egress = {} }: Old) => ({
  ...{ id, org_id: "org_1", name, template: "base", size: "s", vcpus: 1, memory_mib: 256, status },
  ...{
    execution_id: `inc_${id}`,
    host_id: "hst_1",
    env: "{}",
    metadata: "{}",
    egress: JSON.stringify(egress),
  },
});
const sandbox = (row: Old) => ({
  ...common(row),
  ...{ mode: "ephemeral", timeout_ms: 1_000, expires_at: "2026-01-01Z" },
});
const machine = (row: Old) => ({
  ...common(row),
  ...{ disk_gib: 8, stop_timeout_ms: 1_000, restart_policy: "always" },
});

function insert(db: Database, table: string, row: Readonly<Record<string, unknown>>) {
  const columns = Object.keys(row).map((column) => sql.ref(column));
  return sql`insert into ${sql.table(table)} (${sql.join(columns)}) values (${sql.join(Object.values(row))})`.execute(
    db,
  );
}

async function rowsOf<T>(db: Database, query: RawBuilder<T>): Promise<readonly T[]> {
  return (await query.execute(db)).rows;
}

test("sandboxes from before the firewall keep their closed network", async () => {
  const rows = await migrated(
    1,
    async (db) => {
      await sql.raw(base).execute(db);
      await insert(db, "sandboxes", sandbox({ id: "sbx_1", egress: { mode: "deny_all" } }));
    },
    (db) => rowsOf(db, sql`select egress, egress_version, egress_applied from sandboxes`),
  );
  expect(rows).toEqual([{ egress: { mode: "deny_all", dns: false }, egress_version: 1, egress_applied: 1 }]);
});

test("a name that only one living row has finds it, and those that several have block no migration", async () => {
  const names: readonly Old[] = [
    { id: "sbx_alone", name: "alone" },
    { id: "sbx_first", name: "twice" },
    { id: "sbx_second", name: "twice" },
    { id: "sbx_gone", name: "twice", status: "destroyed" },
    { id: "sbx_odd", name: "mch_odd" },
  ];
  const rows = await migrated(
    16,
    async (db) => {
      await sql.raw(base).execute(db);
      for (const row of names) await insert(db, "sandboxes", sandbox(row));
    },
    (db) => rowsOf(db, sql`select id, name, unique_name from sandboxes order by id`),
  );
  expect(rows).toEqual([
    { id: "sbx_alone", name: "alone", unique_name: "alone" },
    { id: "sbx_first", name: "twice", unique_name: null },
    { id: "sbx_gone", name: "twice", unique_name: null },
    { id: "sbx_odd", name: "mch_odd", unique_name: null },
    { id: "sbx_second", name: "twice", unique_name: null },
  ]);
});

/** Without what a later migration has added. */
const shownOf = (table: string) => sql<object>`
  select to_jsonb(vm) - '{ctid,owner_kind,owner_id,owner_name,secrets}'::text[] as row from ${sql.table(table)} as vm order by id`;
const held = sql`
  select account, sum(sandboxes) as sandboxes, sum(machines) as machines, sum(vcpus) as vcpus,
    sum(memory_mib) as memory_mib, sum(disk_gib) as disk_gib
  from room_entries group by account order by account`;
const told = sql`select * from vm_events order by id`;

test("an ephemeral sandbox that was paused before it counted is counted by the migration", async () => {
  const rows = await migrated(
    51,
    async (db) => {
      await sql.raw(base).execute(db);
      const paused = { ...sandbox({ id: "sbx_1", status: "paused" }), disk_gib: 4, paused_at: "2026-01-01Z" };
      await insert(db, "sandboxes", paused);
    },
    (db) => rowsOf(db, held),
  );
  expect(rows).toContainEqual({
    ...{ account: "persistent:org_1", sandboxes: "0", machines: "0", vcpus: "0", memory_mib: "0" },
    // Its disk, and a GiB for its memory.
    disk_gib: "5",
  });
});

test("a database that has VMs already begins with what they hold", async () => {
  const rows = await migrated(
    10,
    async (db) => {
      await sql.raw(base).execute(db);
      await insert(db, "sandboxes", sandbox({ id: "sbx_1" }));
      await insert(db, "sandboxes", sandbox({ id: "sbx_2", status: "destroyed" }));
      await insert(db, "machines", machine({ id: "mch_1" }));
    },
    (db) => rowsOf(db, held),
  );
  const both = { vcpus: "2", memory_mib: "512" };
  expect(rows).toEqual([
    { account: "hst_1", sandboxes: "0", machines: "0", ...both, disk_gib: "0" },
    { account: "org_1", sandboxes: "1", machines: "1", ...both, disk_gib: "8" },
  ]);
});

test("sandboxes and machines are the same rows in one table, and nothing tells of them anew", async () => {
  const seen = async (db: Database) => ({
    sandboxes: await rowsOf(db, shownOf("sandboxes")),
    machines: await rowsOf(db, shownOf("machines")),
    held: await rowsOf(db, held),
    told: await rowsOf(db, told),
    queued: await rowsOf(db, sql`select * from restarts`),
  });
  let before: Awaited<ReturnType<typeof seen>> | undefined;
  const after = await migrated(
    68,
    async (db) => {
      await sql.raw(base).execute(db);
      await insert(db, "sandboxes", { ...sandbox({ id: "sbx_1", name: "web" }), unique_name: "web" });
      await insert(db, "sandboxes", { ...sandbox({ id: "sbx_2", status: "paused" }), mode: "persistent" });
      await insert(db, "machines", { ...machine({ id: "mch_1", name: "web" }), unique_name: "web" });
      await insert(db, "machines", {
        ...machine({ id: "mch_2", status: "failed" }),
        command: "serve",
        retries: 2,
      });
      await sql`insert into restarts (machine_id, due_at) values ('mch_2', now())`.execute(db);
      before = await seen(db);
    },
    async (db) => ({
      ...(await seen(db)),
      kinds: await rowsOf(db, sql`select id, kind from vms order by id`),
    }),
  );
  const { kinds, ...same } = after;
  expect(same).toEqual(before);
  expect(before?.told).toHaveLength(4);
  expect(kinds).toEqual([
    { id: "mch_1", kind: "machine" },
    { id: "mch_2", kind: "machine" },
    { id: "sbx_1", kind: "sandbox" },
    { id: "sbx_2", kind: "sandbox" },
  ]);
});

test("the version before goes on with the old names of the table", async () => {
  const rows = await migrated(
    68,
    (db) => sql.raw(base).execute(db),
    async (db) => {
      await insert(db, "machines", { ...machine({ id: "mch_1", name: "web" }), unique_name: "web" });
      const again = { ...machine({ id: "mch_2", name: "web" }), unique_name: "web" };
      await expect(insert(db, "machines", again)).rejects.toMatchObject({
        constraint: "machines_unique_name",
      });
      await insert(db, "sandboxes", { ...sandbox({ id: "sbx_1", name: "web" }), unique_name: "web" });
      const second = { ...sandbox({ id: "sbx_2", name: "web" }), unique_name: "web" };
      await expect(insert(db, "sandboxes", second)).rejects.toMatchObject({
        constraint: "sandboxes_unique_name",
      });
      await sql`select from machines where id = 'mch_1' for no key update of machines`.execute(db);
      await sql`
        delete from sandboxes where ctid = any(array(select ctid from sandboxes where id = 'sbx_1' for update))`.execute(
        db,
      );
      await sql`update machines set status = 'stopped', version = version + 1 where id = 'mch_1'`.execute(db);
      return rowsOf(db, sql`select id, kind, version from vms`);
    },
  );
  expect(rows).toEqual([{ id: "mch_1", kind: "machine", version: 2 }]);
});
