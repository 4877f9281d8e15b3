// More control planes on the database of a world: another server in this process, and real processes that a test can kill.

import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { sql } from "kysely";
import { inject } from "vitest";
import type { ClientFiles } from "../../src/clients/client-files.ts";
import { makeContext } from "../../src/app/make-context.ts";
import { buildServer } from "../../src/app/server.ts";
import type { InstallationLimits } from "../../src/context.ts";
import { openDatabase } from "../../src/db/database.ts";
import { eventually, type World } from "./world.ts";

export interface Replica extends AsyncDisposable {
  readonly url: string;
}

interface ReplicaOptions {
  readonly limits?: InstallationLimits;
  readonly clients?: ClientFiles;
  readonly trustedProxies?: readonly string[];
  readonly databaseUrl?: string;
  readonly buildDomains?: readonly string[];
}

/** A second server that shares nothing with the first but the database and the host. */
export async function openReplica(
  world: World,
  {
    limits = world.context.limits,
    clients = world.context.clients,
    trustedProxies = [],
    databaseUrl = world.databaseUrl,
    buildDomains = [],
  }: ReplicaOptions = {},
): Promise<Replica> {
  const db = openDatabase(databaseUrl, () => undefined);
  const { log, wake, sealing } = world.context;
  const context = makeContext(db, log, { limits, wake, sealing, clients, buildDomains });
  const server = await buildServer(context, { trustedProxies });
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  return {
    url: `http://127.0.0.1:${(server.app.server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      await server.stop(0);
      await context.hosts.close();
      await db.destroy();
    },
  };
}

export interface ControlProcess extends Replica {
  /**
   * As `kill -9` does it: the process finishes nothing and tells nothing. Resolves when PostgreSQL has none of its connections left, so that no
   * statement of it, such as one that extends a claim, comes after what the test writes next.
   */
  kill(): Promise<void>;
}

/** `skerry-control serve` as a process of its own, with its background services. `files`: how many it may have open. */
export async function startControl(
  world: World,
  environment: Readonly<Record<string, string>> = {},
  { files }: { readonly files?: number } = {},
): Promise<ControlProcess> {
  const name = `control-${randomUUID()}`;
  const command = [process.execPath, inject("controlProgram"), "serve"];
  const [program = "", ...args] =
    files === undefined ? command : ["prlimit", `--nofile=${files}:${files}`, ...command];
  const child = spawn(program, args, {
    env: {
      PATH: process.env["PATH"],
      SKERRY_HOST_SOCKET: world.host.socketPath,
      SKERRY_LISTEN: "127.0.0.1:0",
      SKERRY_ROOT_KEY_FILE: world.rootKeyFile,
      ...environment,
      SKERRY_DATABASE_URL: `${environment["SKERRY_DATABASE_URL"] ?? world.databaseUrl}&application_name=${name}`,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let log = "";
  child.stdout.on("data", (chunk: Buffer) => (log += chunk.toString()));
  const end = async () => {
    await killed(child);
    await eventually(() => isGone(world, name), "PostgreSQL has ended its connections");
    // The services of the test itself watch no clock: with none that vouches for it, no claim would lapse.
    await sql`delete from clock_eras`.execute(world.db);
  };
  try {
    await eventually(() => log.includes("Server listening"), "control listens");
  } catch (error) {
    await end();
    throw error;
  }
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(log)?.[1]);
  return { url: `http://127.0.0.1:${port}`, kill: end, [Symbol.asyncDispose]: end };
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** Ends what is still there: a statement that waits for a lock would not notice that its client has died. */
async function isGone({ db }: World, applicationName: string): Promise<boolean> {
  const { rows } = await sql`
    select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${applicationName}`.execute(
    db,
  );
  return rows.length === 0;
}
