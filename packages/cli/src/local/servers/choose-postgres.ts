// Which PostgreSQL of this machine runs the private database.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { CliError } from "../../errors/errors.ts";
import { fileExists } from "../system/files.ts";
import type { Layout } from "../system/layout.ts";
import { run, type RunOptions } from "../system/run.ts";

/** Where Debian and Ubuntu, and PostgreSQL's own packages for them, put each major version. */
export const PROGRAMS = "/usr/lib/postgresql";
/** Ubuntu 22.04 has it; our SQL needs nothing newer. */
const OLDEST_MAJOR = 14;

/** In the data folder; says that the cluster was made to its end. */
export const MARKER = "skerry.ready";
const READ_DEADLINE_MS = 10_000;

/** Major versions that Skerry supports and this machine has. */
export async function installedMajors(): Promise<number[]> {
  const names = await readdir(PROGRAMS).catch(() => [] as string[]);
  return names.map(Number).filter((major) => major >= OLDEST_MAJOR);
}

/** The one that made the database, because no other reads its files: after an upgrade of the distribution there may be several. For a new
 *  database the newest. */
export function choosePostgres(installed: readonly number[], madeBy: number | undefined): number {
  if (installed.length === 0)
    throw new CliError("postgresql_missing", `PostgreSQL ${OLDEST_MAJOR} or newer is not in ${PROGRAMS}.`, {
      remediation: "Install the package postgresql, or set SKERRY_DATABASE_URL.",
    });
  if (madeBy === undefined) return Math.max(...installed);
  if (installed.includes(madeBy)) return madeBy;
  throw new CliError(
    "postgresql_missing",
    `The database was made by PostgreSQL ${madeBy}, and this machine has ${installed.join(", ")}.`,
    {
      remediation: `Nothing was changed. Install postgresql-${madeBy} again; or move the database to PostgreSQL ${Math.max(...installed)} with pg_upgrade while Skerry is down.`,
    },
  );
}

/** The PostgreSQL that made the private database; undefined while there is none. Read by another process, as the folder's user: that user could
 *  have put a link or a FIFO there. */
export async function clusterMajor(
  { postgresData }: Pick<Layout, "postgresData">,
  as: Pick<RunOptions, "uid" | "gid"> = {},
): Promise<number | undefined> {
  if (!(await fileExists(join(postgresData, MARKER)))) return undefined;
  const file = join(postgresData, "PG_VERSION");
  const { code, stdout } = await run("cat", [file], { ...as, cwd: "/", deadlineMs: READ_DEADLINE_MS });
  return code === 0 && /^\d+\n$/.test(stdout) ? Number(stdout) : undefined;
}
