// One private PostgreSQL for a test run: unprivileged, on a unix socket in a folder of its own, removed afterwards. Its
// template database has all migrations, so that each test file gets a fresh database in a few milliseconds. Beside it the program of control.
//
// Its files are in memory where this may mount: a database has 570 small ones, and a run makes 460 databases.

import { execFile, execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { sql } from "kysely";
import { bundle } from "../../../../setup/bundle.ts";
import { openDatabase } from "../../src/db/database.ts";
import { migrate } from "../../src/db/migrations.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Folder of the server's unix socket. */
    controlPostgres: string;
    /** Control as it is shipped, bundled from the sources as they are now. */
    controlProgram: string;
  }
}

export const TEMPLATE_DATABASE = "skerry_template";
const START_DEADLINE_MS = 60_000;

interface User {
  readonly uid: number;
  readonly gid: number;
}

const run = promisify(execFile);

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), "skerry-control-pg-"));
  const user = unprivilegedUser();
  const isInMemory = user !== undefined && (await mountMemory(folder));
  let server: ChildProcess | undefined;
  const teardown = async () => {
    if (server !== undefined) await stop(server);
    if (isInMemory) await run("umount", [folder]);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    if (user !== undefined) chownSync(folder, user.uid, user.gid);
    server = startServer(folder, user);
    await Promise.all([prepareTemplate(folder), bundle(["control"], join(folder, "dist"))]);
  } catch (error) {
    await teardown();
    throw error;
  }
  project.provide("controlPostgres", folder);
  project.provide("controlProgram", join(folder, "dist/control.js"));
  return teardown;
}

function startServer(folder: string, user: User | undefined): ChildProcess {
  const binaries = binaryFolder();
  const data = join(folder, "data");
  execFileSync(
    join(binaries, "initdb"),
    ["-D", data, "-U", "skerry", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"],
    { ...user, stdio: "ignore", cwd: folder },
  );
  const settings = ["listen_addresses=", "fsync=off", "max_connections=200", "max_wal_size=256MB"];
  return spawn(
    join(binaries, "postgres"),
    ["-D", data, "-k", folder, ...settings.flatMap((setting) => ["-c", setting])],
    { ...user, stdio: "ignore", cwd: folder },
  );
}

async function mountMemory(folder: string): Promise<boolean> {
  return run("mount", ["-t", "tmpfs", "-o", "mode=0755", "skerry-control-pg", folder]).then(
    () => true,
    () => false,
  );
}

/** PostgreSQL refuses to run as root. */
function unprivilegedUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

function binaryFolder(): string {
  const root = "/usr/lib/postgresql";
  const newest = readdirSync(root)
    .toSorted((a, b) => Number(b) - Number(a))
    .at(0);
  if (newest === undefined) throw new Error(`no PostgreSQL in ${root}`);
  return join(root, newest, "bin");
}

async function prepareTemplate(folder: string): Promise<void> {
  const admin = openDatabase(`postgresql:///postgres?host=${folder}&user=skerry`, () => undefined);
  const deadline = Date.now() + START_DEADLINE_MS;
  for (;;) {
    try {
      await sql.raw(`create database ${TEMPLATE_DATABASE}`).execute(admin);
      break;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(50);
    }
  }
  await admin.destroy();
  const db = openDatabase(`postgresql:///${TEMPLATE_DATABASE}?host=${folder}&user=skerry`, () => undefined);
  await migrate(db);
  await db.destroy();
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  // SIGINT: disconnect everybody and shut down; SIGTERM would wait for connections.
  server.kill("SIGINT");
  await once(server, "exit");
}
