import { randomBytes } from "node:crypto";
import { execFile, execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { sql } from "kysely";
import { beforeAll, expect, inject, test } from "vitest";
import { openDatabase, type Database } from "../src/db/database.ts";
import { readDump } from "../src/db/dump-reader.ts";
import { applyMigrations, knownMigrations, migrate } from "../src/db/migrations.ts";
import { readDumpedMigrations, restoreData } from "../src/db/restore-data.ts";
import { asInserter } from "../src/db/restore-schema.ts";
import { emptyDatabase, upTo, urlOf, within } from "./support/empty-database.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const folder = inject("controlPostgres");
const PROGRAMS = "/usr/lib/postgresql";
const canary = `/tmp/skerry-canary-${process.pid}`;

let admin: Database;
beforeAll(() => {
  admin = openDatabase(`postgresql:///postgres?host=${folder}&user=skerry`, () => undefined);
  return () => admin.destroy();
});

/** The newest, as the server is. */
function program(name: string): string {
  const [major = ""] = readdirSync(PROGRAMS).toSorted((a, b) => Number(b) - Number(a));
  return join(PROGRAMS, major, "bin", name);
}

/** As `skerry backup` and `skerry restore` call the two programs. */
async function scriptOf(name: string): Promise<string> {
  const dump = execFileSync(
    program("pg_dump"),
    ["-h", folder, "-U", "skerry", "-Fc", "--no-owner", "--no-privileges", "--no-unlogged-table-data", name],
    { maxBuffer: 2 ** 30 },
  );
  return execFileSync(program("pg_restore"), ["--data-only", "--file=-"], { input: dump, encoding: "utf8" });
}

async function* inPieces(text: string, bytes = 7): AsyncGenerator<Buffer> {
  const all = Buffer.from(text);
  for (let at = 0; at < all.length; at += bytes) yield all.subarray(at, at + bytes);
}

/** Everything but moments that the migrations themselves have written. */
async function contentOf(name: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    program("pg_dump"),
    [
      "-h",
      folder,
      "-U",
      "skerry",
      "--no-unlogged-table-data",
      "--exclude-table-data=schema_migrations",
      name,
    ],
    { maxBuffer: 2 ** 30 },
  );
  return stdout.replaceAll(/^\\(un)?restrict .*$/gm, "");
}

async function restored(script: string, bytes?: number) {
  const name = await emptyDatabase();
  const migrated = await readDumpedMigrations(inPieces(script, bytes));
  return { name, ...(await restoreData(urlOf(name), migrated, inPieces(script, bytes))) };
}

const nameOf = (url: string): string => url.replace(/^postgresql:\/\/\/([^?]+).*/, "$1");

test("rows come back as they were, with the same schema, and no trigger tells of them anew", async () => {
  const { status, body } = await world.call<{ id: string }>("POST", "/v1/sandboxes", {
    body: { template: "base", name: "one" },
  });
  expect(status).toBe(201);
  expect((await world.call("DELETE", `/v1/sandboxes/${body.id}`)).status).toBe(204);
  await sql`insert into users (id, name) values ('usr_odd', ${'\\.\n\\\ttab "quote" é COPY public.users (id) FROM stdin;\n'})`.execute(
    world.db,
  );
  const original = nameOf(world.databaseUrl);
  for (const bytes of [1_000_000, 5]) {
    const { name, dropped, names } = await restored(await scriptOf(original), bytes);
    expect(dropped).toEqual([]);
    expect(names).toContain("refuse_audit_change");
    expect(await contentOf(name)).toBe(await contentOf(original));
    await within(name, async (db) => {
      expect(await migrate(db)).toBe(0);
      await expect(sql`delete from audit_events`.execute(db)).rejects.toThrow("append-only");
    });
  }
  const { rows } = await sql`select rolname from pg_roles where rolname like 'skerry_restore%'`.execute(
    admin,
  );
  expect(rows).toEqual([]);
});

const users = `
insert into users (id, name) values ('usr_1', 'one'), ('usr_2', 'two');
insert into organizations (id, name) values ('org_1', 'one');`;
const rest = `
insert into hosts (id, name, address, status, cpus, memory_mib, templates, facts, last_heartbeat)
values ('hst_1', 'h', '/h', 'online', 2, 2048, '[{"name": "base", "disk_gib": 3}]', '{}', '2026-01-01Z');
insert into sandboxes (id, org_id, name, template, mode, size, vcpus, memory_mib, status, execution_id, host_id, env, metadata, egress, timeout_ms, expires_at)
values ('sbx_1', 'org_1', 'name', 'base', 'ephemeral', 's', 1, 256, 'running', 'exe_1', 'hst_1', '{}', '{}', '{}', 1000, '2026-01-01Z');`;

const newest = Math.max(...knownMigrations);
const versions: readonly (readonly [string, readonly number[]])[] = [
  ...[1, 2, 3, 5, 6, 8, 11, 15, 16, 17, 25, 27, 33, 37, 41, 46, newest].map(
    (last) => [`${last}`, upTo(last)] as const,
  ),
  ["that lacks one in the middle", upTo(37).filter((number) => number !== 35)],
];
test.each(versions)(
  "a backup of the schema %s becomes what migrating the original makes of it",
  async (_name, numbers) => {
    const original = await emptyDatabase();
    await within(original, async (db) => {
      await db.transaction().execute((all) => applyMigrations(all, (number) => numbers.includes(number)));
      await sql.raw(users).execute(db);
      await sql
        .raw(`insert into memberships (org_id, user_id${numbers.includes(4) ? ", role" : ""})
      values ('org_1', 'usr_1'${numbers.includes(4) ? ", 'owner'" : ""})`)
        .execute(db);
      await sql.raw(rest).execute(db);
    });
    const { name, dropped } = await restored(await scriptOf(original));
    expect(dropped).toEqual([]);
    await within(original, (db) => migrate(db));
    // Moments and transactions of the migrations themselves.
    const ofAll = async (database: string) =>
      (await contentOf(database))
        .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\+00/g, "NOW")
        .replaceAll(/^(?:sbx_1|hst_1)\t.*$/gm, (row) => row.replaceAll(/\t\d+\t\d+(?=\t|$)/g, ""));
    expect(await ofAll(name)).toBe(await ofAll(original));
  },
);

const migrationRows = (numbers: readonly number[] = knownMigrations): string =>
  `COPY public.schema_migrations (number, name) FROM stdin;\n${numbers.map((number) => `${number}\tx\n`).join("")}\\.\n`;
const touch = `touch ${canary}`;

test.each([
  ["a statement in the place of COPY", `COPY (select 1) TO PROGRAM '${touch}';\n`],
  ["a statement in the place of COPY, with rows", `ALTER ROLE skerry PASSWORD 'x';\n1\t2\n\\.\n`],
  ["a program that gives the rows", `COPY public.users (id, name) FROM PROGRAM '${touch}';\n`],
  [
    "rows that end and go on as statements",
    `COPY public.users (id, name) FROM stdin;\nusr_1\tx\n\\.\nCOPY (select 1) TO PROGRAM '${touch}';\n`,
  ],
  [
    "a function, a trigger, a rule, an event trigger, an extension and settings",
    `CREATE FUNCTION public.f() RETURNS trigger LANGUAGE plpgsql AS $$ begin copy (select 1) to program '${touch}'; return new; end $$;
CREATE TRIGGER t BEFORE INSERT ON public.users FOR EACH ROW EXECUTE FUNCTION public.f();
CREATE RULE r AS ON INSERT TO public.users DO ALSO SELECT public.f();
CREATE EXTENSION file_fdw;
ALTER DATABASE skerry SET search_path TO evil;
ALTER ROLE skerry SET session_preload_libraries TO 'evil';
\\! ${touch}
`,
  ],
])("%s is not carried out", async (_what, evil) => {
  const honest = "COPY public.users (id, name) FROM stdin;\nusr_2\thonest\n\\.\n";
  const { name } = await restored(`${migrationRows()}${evil}${honest}`);
  expect(existsSync(canary)).toBe(false);
  const clean = await emptyDatabase();
  await within(clean, (db) => migrate(db));
  const schema = (database: string) =>
    execFileSync(program("pg_dump"), ["-h", folder, "-U", "skerry", "--schema-only", "--create", database], {
      encoding: "utf8",
    })
      .replaceAll(/^\\.*$/gm, "")
      .replaceAll(database, "NAME");
  expect(schema(name)).toBe(schema(clean));
  const { rows } = await sql`
    select (select count(*) from pg_db_role_setting) as settings,
      (select count(*) from pg_authid where rolpassword is not null) as passwords`.execute(admin);
  expect(rows).toEqual([{ settings: "0", passwords: "0" }]);
});

test("rows are put in by a role that may do nothing else", async () => {
  const attempts = [
    `copy (select 1) to program '${touch}'`,
    "copy (select 1) to '/tmp/skerry-canary'",
    "select pg_read_file('/etc/passwd')",
    "create table public.mine ()",
    "create role mine",
    "alter role skerry password 'x'",
    "select * from users",
    "delete from users",
    "create function public.f() returns integer language sql as 'select 1'",
  ];
  await within(await emptyDatabase(), async (db) => {
    await migrate(db);
    for (const attempt of attempts) {
      const trying = db.transaction().execute((all) => asInserter(all, () => sql.raw(attempt).execute(all)));
      await expect(trying, attempt).rejects.toThrow(/permission denied|must be|denied/);
    }
    await db
      .transaction()
      .execute((all) =>
        asInserter(all, () => sql`insert into users (id, name) values ('usr_1', 'one')`.execute(all)),
      );
    expect((await sql`select current_user, id from users`.execute(db)).rows).toEqual([
      { current_user: "skerry", id: "usr_1" },
    ]);
  });
  expect(existsSync(canary)).toBe(false);
});

test.each([
  [
    "without a list of migrations",
    "COPY public.users (id, name) FROM stdin;\n\\.\n",
    "not a dump of Skerry's",
  ],
  ["with a list that is none", migrationRows().replace("\n1\t", "\nx\t"), "not a dump of Skerry's"],
  [
    "of a newer version",
    migrationRows([...knownMigrations, 9_999]),
    "migration 9999, which this version does not know",
  ],
  ["with two lists", `${migrationRows([1, 2])}${migrationRows([3])}`, "two lists of migrations"],
  [
    "with a column that we do not have",
    `${migrationRows()}COPY public.users (id, name, evil) FROM stdin;\n\\.\n`,
    "Its table users has columns that no table of that version had: evil.",
  ],
  [
    "that ends in the middle",
    `${migrationRows()}COPY public.users (id, name) FROM stdin;\na\tb\n`,
    "ends in the middle",
  ],
  [
    "with a row that does not fit",
    `${migrationRows()}COPY public.users (id, name) FROM stdin;\na\n\\.\n`,
    "missing data",
  ],
  [
    "with a row that refers to none",
    `${migrationRows()}COPY public.memberships (org_id, user_id, role) FROM stdin;\norg_x\tusr_x\towner\n\\.\n`,
    "foreign key",
  ],
])("a dump %s is refused and leaves nothing", async (_what, script, words) => {
  const name = await emptyDatabase();
  const restoring = async () =>
    restoreData(urlOf(name), await readDumpedMigrations(inPieces(script)), inPieces(script));
  await expect(restoring()).rejects.toThrow(words);
  await within(name, async (db) => {
    expect(
      (await sql`select from pg_class where relnamespace = 'public'::regnamespace`.execute(db)).rows,
    ).toEqual([]);
  });
});

test("tables and sequences that no migration makes are left out and named", async () => {
  const script = `${migrationRows()}COPY public.evil (a) FROM stdin;\n1\n\\.\nCOPY other.users ("Ä\u001b") FROM stdin;\n\\.\nSELECT pg_catalog.setval('public.evil_seq', 3, true);\nSELECT pg_catalog.setval('public.changes', 70, true);\n`;
  const { name, dropped } = await restored(script);
  expect(dropped).toEqual(["table public.evil", "table other.users", "sequence evil_seq"]);
  await within(name, async (db) => {
    expect((await sql`select nextval('changes') as next`.execute(db)).rows).toEqual([{ next: "71" }]);
  });
});

test("an operator's own database is restored by a role that owns it and has no other right", async () => {
  const role = `plain_${randomBytes(6).toString("hex")}`;
  await sql`create role ${sql.id(role)} login`.execute(admin);
  const name = await emptyDatabase();
  await sql`alter database ${sql.id(name)} owner to ${sql.id(role)}`.execute(admin);
  const original = nameOf(world.databaseUrl);
  const script = await scriptOf(original);
  const migrated = await readDumpedMigrations(inPieces(script, 100_000));
  const url = urlOf(name).replace("user=skerry", `user=${role}`);
  const { dropped } = await restoreData(url, migrated, inPieces(script, 100_000));
  expect(dropped).toEqual([]);
  expect(
    (await contentOf(name))
      .replaceAll(`Owner: ${role}`, "Owner: skerry")
      .replaceAll(` OWNER TO ${role};`, " OWNER TO skerry;"),
  ).toBe(await contentOf(original));
});

test("a database that has tables stays as it is", async () => {
  await expect(restoreData(world.databaseUrl, knownMigrations, inPieces(""))).rejects.toThrow("has tables");
});

test("rows are read to the line that ends them, wherever pieces are cut", async () => {
  const script =
    "COPY public.a (b) FROM stdin;\n\n\\\n\\.x\n\\..\n\n\\.\nCOPY public.c (d) FROM stdin;\n\\.\nSELECT 1;\n";
  for (let bytes = 1; bytes < script.length; bytes += 1) {
    const found: [string | undefined, string][] = [];
    for await (const part of readDump(inPieces(script, bytes))) {
      if (part.kind !== "table") continue;
      let text = "";
      for await (const chunk of part.rows) text += chunk.toString();
      found.push([part.table, text]);
    }
    expect(found, `pieces of ${bytes}`).toEqual([
      ["a", "\n\\\n\\.x\n\\..\n\n"],
      ["c", ""],
    ]);
  }
});
