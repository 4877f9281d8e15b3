// PostgreSQL's own programs for dumps, run as the user of the database.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { CliError } from "../../errors/errors.ts";
import { clusterMajor, installedMajors, choosePostgres, PROGRAMS } from "../servers/choose-postgres.ts";
import { databaseUrl, type Layout } from "../system/layout.ts";
import { run } from "../system/run.ts";
import type { SystemUser } from "../system/system-user.ts";

const STDERR_TAIL_CHARS = 4_000;
const ASK_DEADLINE_MS = 30_000;

/** Of a connection string, as libpq's programs read it from the environment: arguments are seen by every user of the machine. */
const PARAMETERS: Readonly<Record<string, string>> = {
  host: "PGHOST",
  port: "PGPORT",
  user: "PGUSER",
  password: "PGPASSWORD",
  dbname: "PGDATABASE",
  options: "PGOPTIONS",
  application_name: "PGAPPNAME",
  connect_timeout: "PGCONNECT_TIMEOUT",
  sslmode: "PGSSLMODE",
  sslcert: "PGSSLCERT",
  sslkey: "PGSSLKEY",
  sslrootcert: "PGSSLROOTCERT",
};

export function libpqEnvironment(url: string): Readonly<Record<string, string>> {
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const parts = Object.entries({
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    dbname: decodeURIComponent(pathname.slice(1)),
  }).filter(([, value]) => value !== "");
  // What stands behind the question mark wins, as in libpq.
  return Object.fromEntries(
    [...parts, ...searchParams].map(([name, value]) => {
      const variable = PARAMETERS[name];
      if (variable === undefined)
        throw new CliError(
          "bad_setting",
          `SKERRY_DATABASE_URL has a parameter "${name}" that dumps cannot use.`,
        );
      return [variable, value];
    }),
  );
}

export class DatabaseTools {
  /** Major version of PostgreSQL, which reads dumps of its own and of earlier ones. */
  readonly major: number;
  readonly #env: NodeJS.ProcessEnv;
  readonly #user: SystemUser;

  private constructor(major: number, env: NodeJS.ProcessEnv, user: SystemUser) {
    this.major = major;
    this.#env = env;
    this.#user = user;
  }

  /** The database of this installation answers. */
  static async open(layout: Layout, user: SystemUser): Promise<DatabaseTools> {
    const env = {
      PATH: "/usr/bin:/bin",
      LC_ALL: "C.UTF-8",
      ...libpqEnvironment(databaseUrl(layout)),
    };
    const installed = await installedMajors();
    const newest = new DatabaseTools(choosePostgres(installed, undefined), env, user);
    const own = layout.externalDatabaseUrl === undefined ? await clusterMajor(layout, user) : undefined;
    const server = own ?? Math.floor(Number(await newest.ask("show server_version_num")) / 10_000);
    const fitting = installed.filter((major) => major >= server);
    if (fitting.length === 0)
      throw new CliError(
        "postgresql_missing",
        `The database runs on PostgreSQL ${server}, and this machine has the programs of ${newest.major}.`,
        { remediation: `Install postgresql-client-${server}.` },
      );
    return new DatabaseTools(Math.min(...fitting), env, user);
  }

  /** One value. */
  async ask(sql: string): Promise<string> {
    const { code, stdout, stderr } = await run(this.#program("psql"), ["-XAtq", "-c", sql], {
      ...this.#as(),
      deadlineMs: ASK_DEADLINE_MS,
    });
    if (code !== 0) throw failed("psql", stderr);
    return stdout.trim();
  }

  /** All of the database at one moment, while it goes on. What PostgreSQL itself forgets in a crash is left out. */
  async *dump(): AsyncGenerator<Buffer> {
    const args = ["--format=custom", "--no-owner", "--no-privileges", "--no-unlogged-table-data"];
    const child = spawn(this.#program("pg_dump"), args, { ...this.#as(), stdio: ["ignore", "pipe", "pipe"] });
    const ended = endOf(child);
    // Whoever reads gets it at the end.
    ended.catch(() => undefined);
    try {
      yield* child.stdout as AsyncIterable<Buffer>;
      await ended;
    } finally {
      child.kill("SIGKILL");
    }
  }

  #program(name: string): string {
    return join(PROGRAMS, String(this.major), "bin", name);
  }

  #as() {
    return { uid: this.#user.uid, gid: this.#user.gid, cwd: "/", env: this.#env };
  }
}

function endOf(child: ReturnType<typeof spawn>): Promise<void> {
  let stderr = "";
  child.stderr
    ?.setEncoding("utf8")
    .on("data", (text: string) => (stderr = (stderr + text).slice(-STDERR_TAIL_CHARS)));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(failed(child.spawnfile, stderr))));
  });
}

function failed(program: string, stderr: string): CliError {
  return new CliError("database_failed", `${program.replace(/^.*\//, "")} failed. It says:`, {
    lines: stderr.trim().split("\n"),
  });
}
