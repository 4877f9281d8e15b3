// Everything that services work with, made of the settings, and closed in reverse.

import type { Logger } from "pino";
import { Wakeups } from "../background/wakeups.ts";
import type { Config } from "./config.ts";
import { HostDirectory } from "../host-client/host-directory.ts";
import { CommandGeneration } from "../hosts/command-generation.ts";
import type { Context } from "../context.ts";
import { openDatabase } from "../db/database.ts";
import { Bucket } from "../object-store/bucket.ts";
import { Sealing } from "../sealing/sealing.ts";
import { makeContext } from "./make-context.ts";
import { isLocal } from "../vms/port-host-name.ts";

export interface OpenedContext extends AsyncDisposable {
  readonly context: Context;
  /** The same for the background services, with connections of their own: a request gets the one that was used last, and a connection to
   *  which its statements are new takes some 20 ms more for a creation. */
  readonly background: Context;
  /** Those that `context.wake` wakes. */
  readonly wakeups: Wakeups;
}

/** The database is migrated. */
export async function openContext(
  config: Config,
  log: Logger,
  handedOut: Partial<Pick<Context, "clients" | "dashboard" | "e2b">> = {},
): Promise<OpenedContext> {
  const onLostConnection = (error: Error): void => {
    log.warn({ err: error }, "a connection to the database was lost");
    // The replicas that worked on VMs could neither extend their claims nor wake a service.
    context.wake("vm-cleanup");
  };
  const db = openDatabase(config.databaseUrl, onLostConnection);
  const background = openDatabase(config.databaseUrl, onLostConnection);
  const wakeups = new Wakeups();
  const generation = new CommandGeneration(db).watch();
  const context: Context = makeContext(db, log, {
    hosts: new HostDirectory(
      () => context.authority.credentials(),
      config.hostSocket,
      () => generation.current,
    ),
    limits: config.limits,
    buildDomains: config.buildDomains,
    registries: config.registries,
    logs: config.logs,
    sealing: new Sealing(config.rootKeyFile),
    objectStore: config.objectStore === undefined ? undefined : new Bucket(config.objectStore),
    apps: config.apps,
    sandboxDomain: config.sandboxDomain?.domain,
    hasLocalPorts: config.sandboxDomain === undefined && isLocal(config.listen.host),
    ...handedOut,
    wake: (service) => {
      wakeups
        .wake(db, service)
        .catch((error: unknown) => log.debug({ err: error, service }, "could not wake a service"));
    },
  });
  const opened = {
    context,
    background: { ...context, db: background },
    wakeups,
    async [Symbol.asyncDispose]() {
      generation[Symbol.dispose]();
      await context.hosts.close();
      await Promise.all([db.destroy(), background.destroy()]);
    },
  };
  try {
    await generation.refresh();
  } catch (error) {
    await opened[Symbol.asyncDispose]();
    throw error;
  }
  return opened;
}
