// Keeps PostgreSQL, host and control running (on a machine that has joined, only the host), and starts again what ends. It is a process of its own (`skerry up` starts it);
// killing it kills nothing else: the next one finds the children by its file and takes their place over.

import { spawn } from "node:child_process";
import { chmod, chown, mkdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { folderIdentity } from "../system/files.ts";
import type { Layout } from "../system/layout.ts";
import { lockSupervisor } from "../system/lock.ts";
import { openLog, rotateLogs } from "./logs.ts";
import { Postgres } from "./postgres.ts";
import { setProcessLimits } from "./process-limits.ts";
import { identify, stopProcess, type ProcessIdentity } from "../system/processes.ts";
import { ensureRootKey } from "./root-key.ts";
import { serviceNames, serviceOf, type Service } from "./services.ts";
import {
  buildDigest,
  saveSupervisorState,
  stopOrphans,
  type ServiceName,
  type SupervisorState,
} from "./supervisor-state.ts";
import { ensureSystemUser, type SystemUser } from "../system/system-user.ts";

const CHECK_POSTGRES_MS = 5_000;
const RESTART_FIRST_MS = 200;
const RESTART_MAX_MS = 5_000;
/** A service that ran this long had started; its next restart is quick again. One that fails does so within its first second. */
const HEALTHY_AFTER_MS = 2_000;
export const STOP_GRACE_MS = 15_000;
const LOG_FOLDER_MODE = 0o750;
const CHECK_LOGS_MS = 5_000;

/** Makes the folders in which root works. No other user may write to them. */
export async function makeFolders(layout: Layout): Promise<void> {
  for (const folder of [layout.state, layout.hostState, layout.run]) {
    await mkdir(folder, { recursive: true, mode: 0o711 });
  }
  await mkdir(layout.logs, { recursive: true, mode: LOG_FOLDER_MODE });
  // Earlier builds gave it to the user of PostgreSQL.
  await chown(layout.logs, 0, 0);
  await chmod(layout.logs, LOG_FOLDER_MODE);
}

/** Runs until SIGTERM; then stops control, host and PostgreSQL in this order. The VMs run on. */
export async function supervise(layout: Layout): Promise<void> {
  await makeFolders(layout);
  await lockSupervisor(layout);
  for (const fault of await setProcessLimits()) note(fault);
  const user = layout.joined === undefined ? await ensureSystemUser(layout.state) : undefined;
  if (user !== undefined) await ensureRootKey(layout, user);
  const stop = stopSignal();
  const self = await identify(process.pid);
  if (self === undefined) throw new Error("/proc is not mounted");
  const services: { [Name in ServiceName]?: ProcessIdentity } = {};
  const folder = await folderIdentity(layout.run);
  const state: SupervisorState = { supervisor: self, build: await buildDigest(layout), services, folder };
  // One after the other: two writers of one file would lose what the first one wrote.
  let saved = Promise.resolve();
  const save = () => (saved = saved.then(() => saveSupervisorState(layout, state)));
  await stopOrphans(layout, STOP_GRACE_MS);
  await save();
  const postgres = await startPostgres(layout, user);
  const remember = async (name: ServiceName, identity: ProcessIdentity | undefined): Promise<void> => {
    if (identity === undefined) delete services[name];
    else services[name] = identity;
    await save();
  };
  const stopHost = new AbortController();
  const run = (name: ServiceName, signal: AbortSignal): Promise<void> =>
    keepRunning(layout, serviceOf(name, layout, user), remember, signal);
  const control = serviceNames(layout).includes("control") ? run("control", stop) : undefined;
  const host = run("host", stopHost.signal);
  await Promise.all([control, watchPostgres(postgres, stop), watchLogs(layout, stop)]);
  stopHost.abort();
  await host;
  await postgres?.stop();
}

/** Undefined where the database is another's. */
async function startPostgres(layout: Layout, user: SystemUser | undefined): Promise<Postgres | undefined> {
  if (user === undefined || layout.externalDatabaseUrl !== undefined) return undefined;
  const postgres = await Postgres.open(layout, user);
  await postgres.prepare(user);
  await postgres.start();
  return postgres;
}

type Remember = (name: ServiceName, identity: ProcessIdentity | undefined) => Promise<void>;

async function keepRunning(
  layout: Layout,
  service: Service,
  remember: Remember,
  stop: AbortSignal,
): Promise<void> {
  let pauseMs = RESTART_FIRST_MS;
  while (!stop.aborted) {
    const startedMs = performance.now();
    const how = await runOnce(layout, service, remember, stop);
    if (stop.aborted) break;
    if (performance.now() - startedMs > HEALTHY_AFTER_MS) pauseMs = RESTART_FIRST_MS;
    note(`${service.name} ended (${how}); starting it again in ${pauseMs} ms`);
    await sleep(pauseMs, undefined, { signal: stop }).catch(() => undefined);
    pauseMs = Math.min(pauseMs * 2, RESTART_MAX_MS);
  }
  await remember(service.name, undefined);
}

/** How it ended: the signal, or its exit code. */
async function runOnce(
  layout: Layout,
  service: Service,
  remember: Remember,
  stop: AbortSignal,
): Promise<string> {
  const log = await openLog(layout, service.name);
  // Its own session: a Ctrl-C or a hang-up meant for us is not meant for it.
  const child = spawn(process.execPath, service.args, {
    env: service.env,
    cwd: "/",
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
  });
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
    child.once("error", (error) => resolve(`it could not be started: ${error.message}`));
  });
  await log.close();
  const identity = child.pid === undefined ? undefined : await identify(child.pid);
  await remember(service.name, identity);
  const how = await Promise.race([ended, aborted(stop).then(() => "stopped")]);
  if (identity !== undefined) await stopProcess(identity, STOP_GRACE_MS);
  return how;
}

async function watchPostgres(postgres: Postgres | undefined, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await sleep(CHECK_POSTGRES_MS, undefined, { signal: stop }).catch(() => undefined);
    if (stop.aborted || postgres === undefined) continue;
    await postgres.start().catch((error: unknown) => note(`PostgreSQL: ${String(error)}`));
  }
}

async function watchLogs(layout: Layout, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await rotateLogs(layout).catch((error: unknown) => note(`the logs: ${String(error)}`));
    await sleep(CHECK_LOGS_MS, undefined, { signal: stop }).catch(() => undefined);
  }
}

function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => controller.abort());
  process.on("SIGHUP", () => undefined);
  return controller.signal;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function note(text: string): void {
  process.stderr.write(`${new Date().toISOString()} ${text}\n`);
}
