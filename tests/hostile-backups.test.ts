// Files that pretend to be a backup, restored by root as a real one. Each would leave a file behind if anything of it were executed.

import { execFileSync } from "node:child_process";
import { chmodSync, readdirSync } from "node:fs";
import { chmod, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { ArchiveWriter } from "../packages/cli/src/local/backup/archive.ts";
import { knownMigrations } from "../packages/control/src/db/migrations.ts";
import { newInstallation, skerry } from "./support/platform.ts";
import { Postgres } from "./support/postgres.ts";
import { run } from "./support/run.ts";

const PROGRAMS = "/usr/lib/postgresql";
const [major = ""] = readdirSync(PROGRAMS).toSorted((a, b) => Number(b) - Number(a));

let postgres: Postgres;
let folder: string;
/** Every user may write here. */
let traces: string;
beforeAll(async () => {
  folder = await mkdtemp("/tmp/skerry-hostile-");
  await chmod(folder, 0o755);
  traces = await mkdtemp("/tmp/sk-");
  chmodSync(traces, 0o777);
  postgres = await Postgres.start();
  await psql("postgres", "create database genuine");
  await run(
    "env",
    `SKERRY_DATABASE_URL=${postgres.url.replace("/postgres?", "/genuine?")}`,
    process.execPath,
    join(import.meta.dirname, "../dist/control.js"),
    "migrate",
  );
  await psql("genuine", "insert into users (id, name) values ('usr_1', 'one')");
});
afterAll(async () => {
  await postgres?.[Symbol.asyncDispose]();
  for (const one of [folder, traces]) await rm(one, { recursive: true, force: true });
});
beforeEach(async () => {
  for (const name of await readdir(traces)) await rm(join(traces, name));
});

function connection(database: string): readonly string[] {
  const host = new URL(postgres.url).searchParams.get("host") ?? "";
  return ["-h", host, "-U", "postgres", database];
}

function psql(database: string, sql: string): Promise<string> {
  return run("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql, ...connection(database));
}

/** A copy of a genuine database with this done to it. */
async function dumpWith(sql: string): Promise<Buffer> {
  await psql("postgres", "drop database if exists evil");
  await psql("postgres", "create database evil template genuine");
  await psql("evil", sql);
  const args = ["-Fc", "--no-owner", "--no-privileges", "--no-unlogged-table-data"];
  return execFileSync(join(PROGRAMS, major, "bin/pg_dump"), [...args, ...connection("evil")], {
    maxBuffer: 2 ** 28,
  });
}

async function pack(dump: Buffer, settings?: string): Promise<string> {
  const file = join(folder, "evil.backup");
  await using archive = await ArchiveWriter.create(file);
  const add = (name: string, content: Buffer) =>
    archive.add(
      name,
      (async function* () {
        yield content;
      })(),
    );
  await add("database.dump", dump);
  if (settings !== undefined) await add("settings.env", Buffer.from(settings));
  await archive.finish({
    format: 1,
    skerry: "0.1.0",
    created_at: "2026-11-22T00:00:00.000Z",
    machine: "elsewhere",
    postgresql: Number(major),
    migrations: knownMigrations,
    organizations: 1,
    joined_hosts: 0,
  });
  return file;
}

/** Restores it, and has the restored database start once more. */
async function restore(file: string): Promise<{ readonly said: string; readonly settings: string }> {
  await using made = await emptyInstallation();
  const said = await skerry(made.env, "restore", "--accept-unverified", file);
  await skerry(made.env, "backup", "--force", join(folder, "again.backup"));
  const path = join(made.state, "settings.env");
  const settings = await readFile(path, "utf8").catch(() => "");
  if (settings !== "") expect((await stat(path)).mode & 0o777).toBe(0o600);
  return { said, settings };
}

async function emptyInstallation() {
  const made = await newInstallation({ assets: inject("assets") });
  return {
    ...made,
    async [Symbol.asyncDispose]() {
      await skerry(made.env, "down").catch(() => undefined);
      await rm(made.state, { recursive: true, force: true });
    },
  };
}

const touch = (name: string): string => `touch ${traces}/${name}`;

test("nothing that a dump makes in a database is made: no function, index, trigger, rule, event trigger, default, view or extension", async () => {
  // Not where the dump is made.
  const evil = (signature: string, returns: string, value = "") => `
    create function public.${signature} returns ${returns} language plpgsql immutable as $$ begin
      if current_database() <> 'evil' then copy (select 1) to program '${touch(signature.replace(/\(.*/, ""))}'; end if;
      ${value} end $$;`;
  const dump = await dumpWith(`
    ${evil("in_trigger()", "trigger", "return new;")}
    ${evil("in_rule()", "integer", "return 1;")}
    ${evil("in_default()", "text", "return 'x';")}
    ${evil("in_view()", "integer", "return 1;")}
    ${evil("in_event()", "event_trigger")}
    ${evil("in_index(t text)", "text", "return t;")}
    create index evil_index on users (public.in_index(name));
    create trigger evil_trigger before insert or update on control_plane for each row execute function in_trigger();
    create rule evil_rule as on update to control_plane do also select public.in_rule();
    alter table organizations alter column egress_default set default public.in_default();
    create materialized view evil_view as select public.in_view();
    create event trigger evil_event on ddl_command_end execute function public.in_event();
    create extension file_fdw;
    create publication evil_publication;
    select lo_create(4711);
    create table evil_table (a text);
    insert into evil_table values ('x');`);
  const { said } = await restore(await pack(dump));
  expect(await readdir(traces)).toEqual([]);
  expect(said).toContain("with 1 organization and");
  expect(said).toContain("It is not known which installation has made this backup");
  for (const name of [
    "in_index",
    "evil_rule",
    "evil_event",
    "file_fdw",
    "evil_publication",
    "table evil_table",
  ])
    expect(said).toContain(name);
});

/** In the archive's list of contents, which pg_restore takes for a statement. */
function replaceCopy(dump: Buffer, sql: string): Buffer {
  const at = dump.indexOf("COPY public.users (id, name, created_at, email) FROM stdin;\n");
  const end = dump.indexOf("\n", at);
  expect(at).toBeGreaterThan(0);
  expect(sql.length).toBeLessThanOrEqual(end - at);
  const changed = Buffer.from(dump);
  changed.write(sql.padEnd(end - at), at);
  return changed;
}

test.each([
  ["runs a program", () => `COPY (SELECT 1) TO PROGRAM '${touch("c")}';`],
  ["changes the role", () => "ALTER ROLE skerry SET search_path TO evil;"],
])("a statement in the place of a table's own that %s is not executed", async (_what, sql) => {
  const dump = replaceCopy(await dumpWith("select 1"), sql());
  await restore(await pack(dump));
  expect(await readdir(traces)).toEqual([]);
});

test("a dump of something else is refused before anything is made", async () => {
  const foreign = await pack(await dumpWith("drop table schema_migrations"));
  await using made = await emptyInstallation();
  const refused = expect(skerry(made.env, "restore", "--accept-unverified", foreign)).rejects;
  await refused.toThrow("not a dump of Skerry's database");
  const newer = await pack(await dumpWith("insert into schema_migrations values (9999, 'x')"));
  await expect(skerry(made.env, "restore", "--accept-unverified", newer)).rejects.toThrow("backup_newer");
  expect(await readdir(made.state)).toEqual([]);
});

test("a file that nothing vouches for is refused, and says so", async () => {
  const file = await pack(await dumpWith("select 1"));
  await using made = await emptyInstallation();
  await expect(skerry(made.env, "restore", file)).rejects.toThrow("backup_unverified");
  expect(await readdir(made.state)).toEqual([]);
});

test("of settings, only values of the service's own are taken, and the rest is named", async () => {
  const settings = `NODE_OPTIONS="--require=${traces}/evil.cjs"
LD_PRELOAD=${traces}/evil.so
PATH=${traces}
SKERRY_QUOTA_SANDBOXES=7
SKERRY_LISTEN="127.0.0.1:7071"
SKERRY_CORS_ORIGINS="https://a.example\\
LD_AUDIT=${traces}/evil.so"
SKERRY_HOST_NAME="a\\nLD_PRELOAD=x"
SKERRY_DNS_SERVERS='1.1.1.1"
SKERRY_UNHEARD_OF=1
SKERRY_STATE=/root
SKERRY_TEMPLATES=${traces}
SKERRY_GUEST_KERNEL=${traces}/kernel
SKERRY_DEBIAN_MIRROR="deb [trusted=yes] http://evil.example trixie main"
SKERRY_DATABASE_URL=postgresql://evil.example/skerry
SKERRY_ROOT_KEY_FILE=/etc/shadow
`;
  const { said, settings: written } = await restore(await pack(await dumpWith("select 1"), settings));
  expect(written.split("\n").filter((line) => line !== "" && !line.startsWith("#"))).toEqual([
    'SKERRY_QUOTA_SANDBOXES="7"',
    'SKERRY_LISTEN="127.0.0.1:7071"',
  ]);
  expect(said).toContain("SKERRY_QUOTA_SANDBOXES=7");
  for (const name of [
    "SKERRY_TEMPLATES",
    "SKERRY_GUEST_KERNEL",
    "SKERRY_DEBIAN_MIRROR",
    "SKERRY_DATABASE_URL",
  ])
    expect(said).toMatch(new RegExp(`Not taken over.*${name}`));
  for (const name of ["NODE_OPTIONS", "LD_PRELOAD", "LD_AUDIT", "SKERRY_UNHEARD_OF", "SKERRY_HOST_NAME"])
    expect(said).toMatch(new RegExp(`Left out, because Skerry has no such setting.*${name}`));
  expect(said).not.toContain("evil.example");
});
