// A private database with all migrations, made once per version and copied into the folder of each platform: a new one takes seconds, and a run of the tests
// starts some thirty platforms.

import { mkdtemp, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { installedMajors } from "../../packages/cli/src/local/servers/choose-postgres.ts";
import { Postgres } from "../../packages/cli/src/local/servers/postgres.ts";
import { controlEnvironment } from "../../packages/cli/src/local/servers/services.ts";
import { makeFolders } from "../../packages/cli/src/local/servers/supervise.ts";
import { readLayout } from "../../packages/cli/src/local/system/layout.ts";
import { mustRun } from "../../packages/cli/src/local/system/run.ts";
import { ensureSystemUser } from "../../packages/cli/src/local/system/system-user.ts";
import { run } from "./run.ts";
import { digestOf, testCache } from "./test-cache.ts";

const MADE_OF = ["packages/control/src/db/migrations", "packages/cli/src/local/servers"];
const dist = join(import.meta.dirname, "../../dist");

/** Its folder. Two that make it at the same time make the same: the first one that is done moves its own there. */
export async function preparedDatabase(): Promise<string> {
  const majors = await installedMajors();
  const folder = join(testCache, `postgres-${Math.max(...majors)}-${await digestOf(MADE_OF)}`);
  if (await stat(folder).catch(() => undefined)) return folder;
  const state = await mkdtemp(join(testCache, "postgres-new-"));
  try {
    const made = await makeDatabase(state);
    await rename(made, folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
    return folder;
  } finally {
    await rm(state, { recursive: true, force: true });
  }
}

async function makeDatabase(state: string): Promise<string> {
  await run("chmod", "711", state);
  const layout = readLayout(dist, { ...process.env, SKERRY_STATE: state });
  await makeFolders(layout);
  const user = await ensureSystemUser(state);
  const postgres = await Postgres.open(layout, user);
  await postgres.prepare(user);
  await postgres.start();
  try {
    const env = { PATH: process.env["PATH"], ...controlEnvironment(layout, user) };
    await mustRun(process.execPath, [join(dist, "control.js"), "migrate"], { env });
  } finally {
    await postgres.stop();
  }
  return layout.postgresData;
}

/** Puts a copy where a platform with this state folder looks for its database. */
export async function copyDatabase(state: string): Promise<void> {
  await run("cp", "--archive", "--reflink=auto", await preparedDatabase(), join(state, "postgres"));
}
