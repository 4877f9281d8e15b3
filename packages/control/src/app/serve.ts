// The life of the serving process: database, host, server, background services, and all of it in reverse on SIGTERM.

import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { connectionBounds, fileLimit } from "@skerry/contract/connections/file-limit";

import { runSchedule } from "./schedule.ts";
import { readKeyPair, renewTlsCertificate } from "./tls-certificate.ts";
import { openSandboxCertificate, type SandboxCertificate } from "./sandbox-certificate.ts";
import type { Config, TlsConfig } from "./config.ts";
import { openContext } from "./open-context.ts";
import { buildMetricsServer } from "../platform/metrics-routes.ts";
import { buildServer, type Server } from "./server.ts";
import { listen, listenBeside } from "./listen.ts";
import { openLog } from "./log.ts";
import { observeLoopDelay } from "../metrics/loop-delay.ts";
import type { Context } from "../context.ts";
import { sealAuthorityKeys } from "../joining/authority-key.ts";
import { openForMigration } from "../db/database.ts";
import { migrate } from "../db/migrations.ts";
import { availableHosts } from "../capacity/capacity-rows.ts";

/** What is in flight when we are told to stop may go on for this long. */
const STOP_GRACE_MS = 10_000;
const HOST_WAIT_MS = 5_000;
const HOST_POLL_MS = 50;
const CERTIFICATE_LOOK_MS = 60_000;
const DATABASE_WAIT_MS = 30_000;
const DATABASE_RETRY_MS = 250;

/** Resolves after SIGTERM or SIGINT, and rejects where the start fails; either way when everything is closed. */
export async function serve(
  config: Config,
  { clients, dashboard }: Pick<Context, "clients" | "dashboard">,
): Promise<void> {
  const log = openLog(config.logLevel);
  const stopping = stopOnSignal();
  const stop = stopping.signal;
  await using cleanup = new AsyncDisposableStack();

  await migrateWhenReady(config.databaseUrl, log, stop);
  const { context, background, wakeups } = cleanup.use(
    await openContext(config, log, {
      clients,
      dashboard: config.dashboard ? dashboard : undefined,
      e2b: config.e2b,
    }),
  );

  const fault = await context.sealing.fault(context.db);
  // A setting of the operator's, so without a stack.
  if (fault !== undefined) {
    const { message, remediation, cause } = fault;
    const reason = cause instanceof Error ? `${message} (${cause.message})` : message;
    log.warn(
      { reason, remediation },
      "secrets, signed URLs and calls of E2B's clients into sandboxes are refused, hosts on other machines are not reached, and the rest is served",
    );
  } else if ((await sealAuthorityKeys(context.db, context.sealing)) > 0) {
    log.info("sealed the key of the cluster's authority under the root key");
  }
  const schedule = runSchedule(background, config, { wakeups, stop });
  cleanup.defer(async () => {
    // An error brings us here, and no signal to stop.
    stopping.abort();
    await schedule;
  });
  // Who sees us healthy may want a sandbox at once, so a host that starts together with us is waited for.
  await hostIsKnown(context, stop);
  const server = await buildServer(context, {
    corsOrigins: config.corsOrigins,
    trustedProxies: config.trustedProxies,
    bounds: connectionBounds(fileLimit(), config.connectionsPerAddress),
  });
  cleanup.defer(() => server.stop(STOP_GRACE_MS));
  // First, so that a server with a broken certificate is never reported healthy.
  if (config.tls !== undefined) {
    const expires = (name: string) => (atS: number) => context.metrics.certificateExpiry.set(atS, name);
    const looks = { everyMs: CERTIFICATE_LOOK_MS, log, expires: expires("sandbox_domain") };
    const ofPorts = cleanup.use(await openSandboxCertificate(config.sandboxDomain, looks));
    cleanup.use(await serveTls(server, config.tls, { ofPorts, log, expires: expires("api") }));
  }
  // Not before: the process is busy starting until then, and has no clients yet.
  cleanup.use(observeLoopDelay(context.metrics));
  await listen(server.app, config.listen);
  if (config.metricsListen !== undefined) {
    const metricsServer = buildMetricsServer(context);
    cleanup.defer(() => closeAtOnce(metricsServer));
    await listenBeside("SKERRY_METRICS_LISTEN", metricsServer, config.metricsListen);
    log.info({ address: metricsServer.address() }, "metrics are served without a token");
  }

  if (!stop.aborted) await once(stop, "abort");
  log.info("stopping");
}

/** A scraper asks again. */
async function closeAtOnce(server: HttpServer): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}

async function serveTls(
  server: Server,
  tls: TlsConfig,
  {
    ofPorts,
    log,
    expires,
  }: {
    readonly ofPorts: SandboxCertificate | undefined;
    readonly log: Logger;
    readonly expires: (atS: number) => void;
  },
): Promise<Disposable> {
  const pair = await readKeyPair(tls);
  const secured = server.overTls(pair, (name) => ofPorts?.contextFor(name));
  await listenBeside("SKERRY_TLS_LISTEN", secured, tls.listen);
  log.info({ address: secured.address() }, "serving HTTPS");
  return renewTlsCertificate(secured, { tls, pair, everyMs: CERTIFICATE_LOOK_MS, log, expires });
}

async function hostIsKnown({ db, hosts }: Context, stop: AbortSignal): Promise<void> {
  for (const deadline = performance.now() + HOST_WAIT_MS; performance.now() < deadline && !stop.aborted;) {
    if ((await availableHosts(db)).some(({ address }) => hosts.mayCall(address))) return;
    await sleep(HOST_POLL_MS);
  }
}

/** Aborts on the first SIGTERM or SIGINT; later ones change nothing, because the stop is bounded anyway. */
function stopOnSignal(): AbortController {
  const controller = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => controller.abort());
  return controller;
}

/** PostgreSQL may be starting at the same time as we are. */
async function migrateWhenReady(databaseUrl: string, log: Logger, stop: AbortSignal): Promise<void> {
  await using db = openForMigration(databaseUrl);
  const deadline = performance.now() + DATABASE_WAIT_MS;
  for (;;) {
    try {
      const applied = await migrate(db);
      if (applied > 0) log.info({ applied }, "migrated the database");
      return;
    } catch (error) {
      if (!isStarting(error) || performance.now() > deadline || stop.aborted) throw error;
      await sleep(DATABASE_RETRY_MS);
    }
  }
}

/** 57P03: PostgreSQL says that it is starting; the others: its socket is not there yet. */
function isStarting(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === "57P03" || code === "ECONNREFUSED" || code === "ENOENT";
}
