// `skerry uninstall`: everything that `skerry install` has put on the machine, and, where that is asked for, all data.

import { readdir, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline/promises";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { SYSTEM_USER } from "../system/layout.ts";
import { units, unmarkUnits } from "../servers/units.ts";
import { fileExists } from "../system/files.ts";
import { requireRoot } from "../system/require-root.ts";
import { run } from "../system/run.ts";
import { step } from "../system/step.ts";
import { readRecord, under, type Installation, type InstallationRecord } from "./installation.ts";
import { endKeptImages, keptImagesFolder } from "./kept-images.ts";
import { leaveSettings } from "./service-settings.ts";
import { hasUnits, removeUnits, requireSystemctl, systemctl } from "./systemd.ts";

export interface UninstallFlags {
  /** Ask nothing; data stays. */
  readonly yes: boolean;
  /** Remove the data, too. */
  readonly purge: boolean;
}

const NOTHING_LEFT = "Nothing of it is left.";

export async function uninstall(installation: Installation, flags: UninstallFlags): Promise<string> {
  requireRoot("uninstall");
  const record = await readRecord(installation);
  if (record === undefined && !(await hasUnits(installation)))
    return `Skerry is not installed in ${installation.lib}.`;
  await requireSystemctl();
  const state = await dataOf(installation, record);
  if (!flags.yes)
    await requireYes("Stop Skerry, destroy its sandboxes, stop its machines, and remove its programs?");
  const images = await keptImagesFolder(installation);
  const purge = state !== undefined && flags.purge && (flags.yes || (await isDataToGo(state)));
  if (installation.root === "") await step("Stop Skerry", () => systemctl("stop", units.target, units.vms));
  if (state !== undefined && !purge) await leaveSettings(installation, state);
  await step("Remove the units and programs", () => removePrograms(installation));
  const left = await endKeptImages(installation, images, flags.purge && (purge || state === undefined));
  return [await endData(installation, state, purge), left].filter(Boolean).join(" ");
}

async function endData(
  installation: Installation,
  state: string | undefined,
  purge: boolean,
): Promise<string> {
  if (state === undefined) return NOTHING_LEFT;
  return purge ? removeData(installation, state) : leaveData(installation, state);
}

async function leaveData(installation: Installation, state: string): Promise<string> {
  await unmarkUnits(join(under(installation, state), "run"));
  return `Its data is in ${state}, and belongs to the user ${SYSTEM_USER}; \`skerry install\` goes on with it.`;
}

async function removeData(installation: Installation, state: string): Promise<string> {
  await step(`Remove ${state}`, async () => {
    const folder = under(installation, state);
    for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true });
    await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
      // A disk is mounted there.
      if (error.code !== "EBUSY") throw error;
    });
    if (installation.root === "") await run("userdel", [SYSTEM_USER]);
  });
  return NOTHING_LEFT;
}

/** The state folder, where it is there. */
async function dataOf(
  installation: Installation,
  record: InstallationRecord | undefined,
): Promise<string | undefined> {
  if (record === undefined) return undefined;
  return (await fileExists(under(installation, record.state))) ? record.state : undefined;
}

async function removePrograms(installation: Installation): Promise<void> {
  await removeUnits(installation);
  for (const path of [installation.command, installation.lib, dirname(installation.settings)])
    await rm(under(installation, path), { recursive: true, force: true });
  // Only where nothing else is in it.
  await rmdir(under(installation, join(installation.prefix, "lib"))).catch(() => undefined);
}

function isDataToGo(state: string): Promise<boolean> {
  return isYes(`Remove ${state} with the database and the disks of machines, for good?`);
}

async function requireYes(question: string): Promise<void> {
  if (await isYes(question)) return;
  throw new CliError("not_confirmed", "Nothing was changed.", { exitCode: exitCodes.failed });
}

async function isYes(question: string): Promise<boolean> {
  if (process.stdin.isTTY !== true)
    throw new CliError("not_confirmed", "There is no terminal to ask at.", {
      remediation: "Nothing was changed. Say --yes, and --purge where the data is to be removed, too.",
      exitCode: exitCodes.usage,
    });
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}
