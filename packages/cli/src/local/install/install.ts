// `skerry install`: what `skerry up` runs, run by systemd, from a copy of this checkout or package.

import { mkdir } from "node:fs/promises";
import { CliError } from "../../errors/errors.ts";
import { checkControlSettings } from "../servers/control-command.ts";
import { Postgres } from "../servers/postgres.ts";
import { runHost } from "../servers/run-host.ts";
import { makeFolders, STOP_GRACE_MS } from "../servers/supervise.ts";
import { runningSupervisor, stopOrphans } from "../servers/supervisor-state.ts";
import { ensureToken } from "../servers/token.ts";
import { units } from "../servers/units.ts";
import { systemPackages, installCommand } from "../doctor/system-packages.ts";
import { fileExists } from "../system/files.ts";
import type { Layout } from "../system/layout.ts";
import { lockCommands } from "../system/lock.ts";
import { stopProcess } from "../system/processes.ts";
import { requireRoot } from "../system/require-root.ts";
import { step } from "../system/step.ts";
import { ensureSystemUser } from "../system/system-user.ts";
import { refuseHalfRestored } from "../system/half-restored.ts";
import { copyPrograms, makeCurrent, versionOf } from "./copy-programs.ts";
import { readRecord, under, writeRecord, type Installation } from "./installation.ts";
import { requireLastingState, writeServiceSettings } from "./service-settings.ts";
import { hasUnits, requireSystemctl, requireSystemd, systemctl, writeUnits } from "./systemd.ts";
import { waitUntilServing } from "./wait-until-serving.ts";

const STOP_DEADLINE_MS = 60_000;

export async function install(layout: Layout, installation: Installation, release: string): Promise<string> {
  requireRoot("install");
  requireLastingState(layout);
  await refuseInstalled(installation);
  const isHere = installation.root === "";
  if (isHere) await requireSystemd();
  await requireSystemctl();
  if (isHere) {
    await requirePackages(layout);
    await refuseHalfRestored(layout);
    await prepare(layout);
  }
  const version = await versionOf(layout, release);
  await step(`Copy Skerry ${version} to ${installation.lib}`, async () => {
    await mkdir(under(installation, installation.lib), { recursive: true });
    await copyPrograms(installation, layout, version);
    await makeCurrent(installation, version);
    await writeRecord(installation, layout);
  });
  const leftOut = await writeServiceSettings(installation, layout);
  if (leftOut.length > 0)
    process.stdout.write(`Left out, because Skerry has no such settings: ${leftOut.join(", ")}\n`);
  await step("Write the units", () => writeUnits(installation, layout));
  if (!isHere)
    return `The units are in ${under(installation, installation.units)}, and start with that system.`;
  await step(`Start ${units.target}`, async () => {
    await systemctl("start", units.target);
    await waitUntilServing(layout);
  });
  const about = `Its settings are in ${installation.settings}, its log is in the journal: journalctl -u 'skerry-*'.`;
  if (layout.joined !== undefined) return about;
  return `${await ensureToken(layout, await ensureSystemUser(layout.state))}\n${about}`;
}

async function refuseInstalled(installation: Installation): Promise<void> {
  if ((await readRecord(installation)) === undefined && !(await hasUnits(installation))) return;
  throw new CliError("already_installed", `Skerry is installed in ${installation.lib} already.`, {
    remediation: "For another version: `skerry upgrade`. To begin anew: `skerry uninstall`.",
  });
}

async function requirePackages(layout: Layout): Promise<void> {
  const { missing = [] } = await systemPackages(layout);
  if (missing.length === 0) return;
  throw new CliError("packages_missing", `System packages are missing: ${missing.join(", ")}.`, {
    remediation: `Nothing was changed. Run: ${installCommand(missing)}`,
  });
}

/** What takes long the first time: kernel, root disk, frozen template. What `skerry up` has started ends before; its VMs run on. */
async function prepare(layout: Layout): Promise<void> {
  await makeFolders(layout);
  await lockCommands(layout, "skerry install");
  const user = layout.joined === undefined ? await ensureSystemUser(layout.state) : undefined;
  await checkControlSettings(layout);
  const running = await runningSupervisor(layout);
  await step("Stop what `skerry up` has started; its VMs run on", async () => {
    if (running !== undefined) await stopProcess(running.supervisor, STOP_DEADLINE_MS);
    await stopOrphans(layout, STOP_GRACE_MS);
    const hasDatabase = layout.externalDatabaseUrl === undefined && (await fileExists(layout.postgresData));
    if (user !== undefined && hasDatabase) await (await Postgres.open(layout, user)).stop();
  });
  await runHost(layout, user, "prepare");
}
