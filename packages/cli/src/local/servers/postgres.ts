// The private PostgreSQL: Debian's programs, a cluster of our own in the state folder, reachable only through a socket in a
// folder that only its user enters. A postmaster that is alive is adopted, never doubled.

import { chown, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CliError } from "../../errors/errors.ts";
import { SYSTEM_USER, type Layout } from "../system/layout.ts";
import { choosePostgres, clusterMajor, installedMajors, MARKER, PROGRAMS } from "./choose-postgres.ts";
import { openLog } from "./logs.ts";
import { mustRun, run, type RunOptions } from "../system/run.ts";
import { folderIdentity, fileExists } from "../system/files.ts";
import type { SystemUser } from "../system/system-user.ts";

const START_DEADLINE_MS = 60_000;

const SETTINGS = `# Written by skerry up.
listen_addresses = ''
unix_socket_permissions = 0700
shared_buffers = 32MB
fsync = on
`;

/** For four control processes, which have 40 each at most, and the operator's commands. Told at each start,
 *  because clusters of versions before have 50 in their settings: too few for a second process. */
const connectionsMax = "max_connections=200";

/** In the folder of sockets and locks, as long as the cluster is being made: what lies in the data folder then is half of one. */
const MAKING = "postgres.making";
/** Run by a shell with the data folder and the settings as its arguments. */
const FINISH = `printf %s "$2" >>"$1/postgresql.conf" && : >"$1/${MARKER}"`;

export class Postgres {
  readonly #layout: Layout;
  readonly #as: RunOptions;
  readonly #bin: string;

  private constructor(layout: Layout, user: SystemUser, bin: string) {
    this.#layout = layout;
    this.#as = { uid: user.uid, gid: user.gid, cwd: "/", env: { PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8" } };
    this.#bin = bin;
  }

  static async open(layout: Layout, user: SystemUser): Promise<Postgres> {
    const major = choosePostgres(
      await installedMajors(),
      await clusterMajor(layout, { uid: user.uid, gid: user.gid }),
    );
    return new Postgres(layout, user, join(PROGRAMS, String(major), "bin"));
  }

  /** Makes the cluster unless it is there. A half-made one, from a start that was killed, is made again; what is anything else stays. */
  async prepare(user: SystemUser): Promise<void> {
    const { postgresData, postgresSocketFolder } = this.#layout;
    for (const folder of [postgresData, postgresSocketFolder]) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await chown(folder, user.uid, user.gid);
    }
    // Root does nothing inside a folder of another user, who could put a link in its way: all of this is done as that user.
    const making = join(this.#layout.run, MAKING);
    // A start that was killed at its very end leaves it, and it would condemn what is put there later, as from a backup.
    if (await fileExists(join(postgresData, MARKER))) return rm(making, { force: true });
    if (!(await fileExists(making)) && (await readdir(postgresData)).length > 0) throw notOurs(postgresData);
    await writeFile(making, "");
    await mustRun("find", [postgresData, "-mindepth", "1", "-delete"], this.#as);
    const options = ["--auth=peer", `--username=${SYSTEM_USER}`, "--encoding=UTF8", "--locale=C.UTF-8"];
    await mustRun(join(this.#bin, "initdb"), ["-D", postgresData, ...options], this.#as);
    await mustRun("sh", ["-c", FINISH, "sh", postgresData, SETTINGS], this.#as);
    await rm(making);
  }

  async isRunning(): Promise<boolean> {
    return (await this.#postmaster()) === "ours";
  }

  /** pg_ctl believes the file in the data folder. In a copy that was made while the server ran, that file names the server of the original. */
  async #postmaster(): Promise<"ours" | "another's" | "none"> {
    const { postgresData } = this.#layout;
    const { code, stdout } = await run(join(this.#bin, "pg_ctl"), ["status", "-D", postgresData], this.#as);
    if (code !== 0) return "none";
    const [, pid] = /\(PID: (\d+)\)/.exec(stdout) ?? [];
    // A server works in its data folder.
    const [here, there] = await Promise.all(
      [postgresData, `/proc/${pid}/cwd`].map((folder) => folderIdentity(folder).catch(() => undefined)),
    );
    // It has ended meanwhile.
    if (there === undefined) return "none";
    return here === there ? "ours" : "another's";
  }

  /** Starts it unless it runs, and makes the database; `anew`: in the place of one that is there. It lives on when this process ends. */
  async start({ anew = false }: { readonly anew?: boolean } = {}): Promise<void> {
    const { postgresData, postgresSocketFolder } = this.#layout;
    const postmaster = await this.#postmaster();
    if (postmaster === "another's") throw copiedAlive(postgresData);
    if (postmaster === "none") {
      // Without -l the server inherits our open file and never opens one by name.
      await using log = await openLog(this.#layout, "postgres");
      // Told at each start, because the state folder may have been moved or restored elsewhere since the last one.
      const options = `-c unix_socket_directories=${shellQuoted(postgresSocketFolder)} -c ${connectionsMax}`;
      await mustRun(join(this.#bin, "pg_ctl"), ["start", "-s", "-w", "-D", postgresData, "-o", options], {
        ...this.#as,
        stdoutFd: log.fd,
        deadlineMs: START_DEADLINE_MS,
      });
    }
    await this.ensureDatabase({ anew });
  }

  /** The server itself, as systemd runs it in the foreground. */
  serverCommand(): { readonly program: string; readonly args: readonly string[] } {
    const { postgresData, postgresSocketFolder } = this.#layout;
    const socket = `unix_socket_directories="${postgresSocketFolder}"`;
    const args = ["-D", postgresData, "-c", socket, "-c", connectionsMax];
    return { program: join(this.#bin, "postgres"), args };
  }

  /** The server runs. */
  async ensureDatabase({ anew = false }: { readonly anew?: boolean } = {}): Promise<void> {
    const { postgresSocketFolder } = this.#layout;
    const psql = (database: string, sql: string) =>
      run(
        join(this.#bin, "psql"),
        ["-XAtq", "-h", postgresSocketFolder, "-U", SYSTEM_USER, "-d", database, "-c", sql],
        this.#as,
      );
    if (anew) await psql("postgres", `drop database if exists ${SYSTEM_USER} with (force)`);
    if ((await psql(SYSTEM_USER, "select 1")).code === 0) return;
    const { code, stderr } = await psql("postgres", `create database ${SYSTEM_USER}`);
    if (code !== 0) throw new Error(`the database could not be made: ${stderr.trim()}`);
  }

  async stop(): Promise<void> {
    if (!(await this.isRunning())) return;
    await mustRun(
      join(this.#bin, "pg_ctl"),
      ["stop", "-s", "-w", "-m", "fast", "-D", this.#layout.postgresData],
      {
        ...this.#as,
        deadlineMs: START_DEADLINE_MS,
      },
    );
  }
}

/** It may be a database that was restored from a backup without its last file. */
function notOurs(folder: string): CliError {
  return new CliError(
    "database_not_understood",
    `${folder} has files, and none says that its database was made to its end.`,
    {
      remediation: `Nothing was changed. If it is a database of Skerry's, as from a backup, run: touch ${join(folder, MARKER)}. Otherwise move the folder away.`,
    },
  );
}

function copiedAlive(folder: string): CliError {
  return new CliError(
    "database_copied_alive",
    `${folder} was copied from a folder whose database ran, and still runs.`,
    {
      remediation: `Copy it again after \`skerry down\` there. If it is a snapshot of one moment, run: rm ${join(folder, "postmaster.pid")}`,
    },
  );
}

/** pg_ctl hands its options to a shell. A comma would separate two folders, unless the path stands in double quotes. */
function shellQuoted(path: string): string {
  return `'"${path.replaceAll("'", "'\\''")}"'`;
}
