// `skerry up`, `skerry down` and `skerry status`.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { VmList } from "@skerry/contract/host-api/vm";
import { isId } from "@skerry/contract/ids";
import { CliError } from "../errors/errors.ts";
import { fileExists } from "./system/files.ts";
import { refuseHalfRestored } from "./system/half-restored.ts";
import { askHost } from "./system/ask-host.ts";
import type { Layout } from "./system/layout.ts";
import { lockCommands } from "./system/lock.ts";
import { checkControlSettings } from "./servers/control-command.ts";
import { lastLines, openLog } from "./servers/logs.ts";
import { portHolder, portTaken } from "./servers/port.ts";
import { Postgres } from "./servers/postgres.ts";
import { stopProcess } from "./system/processes.ts";
import { requireRoot } from "./system/require-root.ts";
import { step } from "./system/step.ts";
import { runHost } from "./servers/run-host.ts";
import { makeFolders, STOP_GRACE_MS } from "./servers/supervise.ts";
import {
  buildDigest,
  readSupervisorState,
  runningSupervisor,
  stopOrphans,
} from "./servers/supervisor-state.ts";
import { refuseUnits, units } from "./servers/units.ts";
import { ensureSystemUser, type SystemUser } from "./system/system-user.ts";
import { ensureToken } from "./servers/token.ts";

const READY_DEADLINE_MS = 60_000;
/** Of servers that run: they may just begin again after a crash. */
const READY_AGAIN_MS = 15_000;
export const DOWN_DEADLINE_MS = 60_000;
const HEALTH_DEADLINE_MS = 2_000;
const POLL_MS = 50;

export async function up(layout: Layout): Promise<void> {
  requireRoot("up");
  await refuseUnits(layout, `Start it with: systemctl start ${units.target}`);
  await refuseHalfRestored(layout);
  await makeFolders(layout);
  await lockCommands(layout, "skerry up");
  const user = await userOf(layout);
  await checkControlSettings(layout);
  await startUnlessRunning(layout, user);
  process.stdout.write(`${user === undefined ? whoseHost(layout) : await ensureToken(layout, user)}\n`);
}

/** Undefined where nothing runs as it: on a machine that has joined. */
async function userOf(layout: Layout): Promise<SystemUser | undefined> {
  return layout.joined === undefined ? ensureSystemUser(layout.state) : undefined;
}

function whoseHost({ joined }: Layout): string {
  return `This machine is the host "${joined?.name}" of ${joined?.control}.`;
}

/** Everything of this machine runs afterwards, and is of this build. Call it under the commands' lock. */
export async function startUnlessRunning(layout: Layout, user: SystemUser | undefined): Promise<void> {
  const running = await runningSupervisor(layout);
  if (running !== undefined) {
    const isOld = running.build !== (await buildDigest(layout));
    // Servers that did not get ready have the settings of the earlier `up`, which may have been mended since. The VMs run on; the new host adopts them.
    if (isOld || !(await becomesReady(layout, READY_AGAIN_MS)))
      await step(`Stop the servers ${isOld ? "of an earlier build" : "that are not ready"}`, () =>
        stopProcess(running.supervisor, DOWN_DEADLINE_MS),
      );
  }
  if ((await runningSupervisor(layout)) === undefined) {
    // Before anything of ours begins: a host whose supervisor was killed still holds its VMs.
    await stopOrphans(layout, STOP_GRACE_MS);
    if (layout.joined === undefined) await refuseTakenPort(layout);
    await prepareHost(layout, user);
    await step(`Start ${programsOf(layout)}`, () => start(layout));
  }
}

async function refuseTakenPort(layout: Layout): Promise<void> {
  const holder = await portHolder(layout);
  if (holder.state === "other") throw portTaken(layout, holder.who);
}

function programsOf({ joined }: Layout): string {
  return joined === undefined ? "PostgreSQL, host and control" : "the host";
}

/**
 * Stops control, host and PostgreSQL. Destroys the sandboxes that run, and stops the machines, unless
 * `keepVms` leaves them to the next `skerry up`.
 */
export async function down(layout: Layout, keepVms: boolean): Promise<void> {
  requireRoot("down");
  const stop = keepVms ? units.target : `${units.target} ${units.vms}`;
  await refuseUnits(layout, `Stop it with: systemctl stop ${stop}`);
  if (!(await fileExists(layout.run))) {
    process.stdout.write(`Nothing is set up in ${layout.state}, so there is nothing to stop.\n`);
    return;
  }
  await lockCommands(layout, "skerry down");
  if (!keepVms) await tellEnding(layout);
  const state = await readSupervisorState(layout);
  if (state !== undefined) {
    await step(`Stop ${programsOf(layout)}`, async () => {
      await stopProcess(state.supervisor, DOWN_DEADLINE_MS);
      // A supervisor that was killed has stopped none of its processes.
      await stopOrphans(layout, STOP_GRACE_MS);
    });
  }
  const user = await userOf(layout);
  if (!keepVms)
    await step("Destroy the running sandboxes, stop the machines", () => runHost(layout, user, "clear"));
  if (
    user !== undefined &&
    layout.externalDatabaseUrl === undefined &&
    (await fileExists(layout.postgresData))
  )
    await (await Postgres.open(layout, user)).stop();
}

/** Says that sandboxes end, also persistent ones, whose owner may have meant them to stay. */
async function tellEnding(layout: Layout): Promise<void> {
  const vms = await askHost<VmList>(layout, "/vms");
  const items = typeof vms === "string" ? [] : vms.items;
  const ending = items.filter(({ id, status }) => isId("sandbox", id) && status === "running").length;
  if (ending === 0) return;
  const ends = ending === 1 ? "1 running sandbox ends" : `${ending} running sandboxes end`;
  process.stdout.write(`${ends}. Paused ones stay; \`skerry down --keep-vms\` leaves all of them running.\n`);
}

async function start(layout: Layout): Promise<void> {
  await using log = await openLog(layout, "supervisor");
  const args = ["--enable-source-maps", join(layout.dist, "skerry.js"), "supervise"];
  const child = spawn(process.execPath, args, {
    detached: true,
    cwd: "/",
    stdio: ["ignore", log.fd, log.fd],
  });
  child.unref();
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  if (await becomesReady(layout, READY_DEADLINE_MS, hasEnded)) return;
  throw new CliError("not_ready", "Skerry did not get ready.", {
    remediation: `Its logs in ${layout.logs} say why. They end with:`,
    lines: await lastLines(layout, ["supervisor", "host", "control", "postgres"]),
  });
}

/** Whether a sandbox could be made before the time is over. Does not wait for a supervisor that has ended. */
async function becomesReady(
  layout: Layout,
  withinMs: number,
  hasEnded = (): boolean => false,
): Promise<boolean> {
  for (const end = performance.now() + withinMs; performance.now() < end; await sleep(POLL_MS)) {
    if (await isReady(layout)) return true;
    if (hasEnded()) break;
  }
  return false;
}

/** Our control answers (it listens once it has heard from the host), and so would the host. */
async function isReady(layout: Layout): Promise<boolean> {
  if (layout.joined !== undefined) return typeof (await askHost<object>(layout, "/info")) === "object";
  const holder = await portHolder(layout);
  if (holder.state === "other") throw portTaken(layout, holder.who);
  if (holder.state === "free") return false;
  const healthy = await fetch(`${layout.apiUrl}/v1/health`, {
    signal: AbortSignal.timeout(HEALTH_DEADLINE_MS),
  }).then(
    (response) => response.ok,
    () => false,
  );
  return healthy && (await fileExists(layout.hostSocket));
}

/** Takes long the first time only: kernel, root disk, frozen template. */
async function prepareHost(layout: Layout, user: SystemUser | undefined): Promise<void> {
  await runHost(layout, user, "prepare");
}
