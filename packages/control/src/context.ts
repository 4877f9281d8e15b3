// Everything that services work with, made of the settings, and closed in reverse.

import type { Logger } from "pino";
import { Bells } from "./background/bells.ts";
import type { Config } from "./config.ts";
import { HostDirectory } from "./hosts/host-directory.ts";
import { Metrics } from "./metrics/metrics.ts";
import { AccessWatch } from "./services/access-watch.ts";
import { Authority } from "./services/authority.ts";
import { Bearers } from "./services/bearers.ts";
import type { Context } from "./services/context.ts";
import { HostLoads } from "./services/host-loads.ts";
import { VmRoutes } from "./services/vm-routes.ts";
import { openDatabase } from "./store/database.ts";

export interface OpenedContext extends AsyncDisposable {
  readonly context: Context;
  /** The same for the background services, with connections of their own: a request gets the one that was used last, and a connection to
   *  which its statements are new takes some 20 ms more for a creation. */
  readonly background: Context;
  /** Those that `context.ring` rings. */
  readonly bells: Bells;
}

export function openContext(config: Config, log: Logger): OpenedContext {
  const onLostConnection = (error: Error): void => {
    log.warn({ err: error }, "a connection to the database was lost");
    // Whoever was at work on a VM could not say so in its row, nor ring.
    context.ring("vm-cleanup");
  };
  const db = openDatabase(config.databaseUrl, onLostConnection);
  const background = openDatabase(config.databaseUrl, onLostConnection);
  const authority = new Authority(db);
  const hosts = new HostDirectory(() => authority.credentials(), config.hostSocket);
  const bearers = new Bearers(db);
  const bells = new Bells();
  const context: Context = {
    db,
    hosts,
    loads: new HostLoads(db),
    routes: new VmRoutes(),
    authority,
    log,
    bearers,
    watch: new AccessWatch(bearers),
    metrics: new Metrics(),
    limits: config.limits,
    ring: (service) => {
      bells.ring(db, service).catch((error: unknown) => log.debug({ err: error, service }, "could not ring"));
    },
  };
  return {
    context,
    background: { ...context, db: background },
    bells,
    async [Symbol.asyncDispose]() {
      await hosts.close();
      await Promise.all([db.destroy(), background.destroy()]);
    },
  };
}
