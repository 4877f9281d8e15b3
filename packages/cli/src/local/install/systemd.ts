// What this program asks of systemd.

import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CliError } from "../../errors/errors.ts";
import { installCommand } from "../doctor/system-packages.ts";
import { units } from "../servers/units.ts";
import { fileExists } from "../system/files.ts";
import { mustRun, run } from "../system/run.ts";
import type { Layout } from "../system/layout.ts";
import { under, type Installation } from "./installation.ts";
import { unitFiles } from "./unit-files.ts";

/** The vms unit may have to stop machines. */
const DEADLINE_MS = 300_000;
const LOG_LINES = 30;
/** Exists where systemd is process 1. */
const BOOTED = "/run/systemd/system";

export async function requireSystemd(): Promise<void> {
  if (await fileExists(BOOTED)) return;
  throw new CliError("no_systemd", "This machine was not started by systemd.", {
    remediation: "Run Skerry with `skerry up`, or write the units for another system's root with --root.",
  });
}

/** Units are enabled and disabled with this machine's systemctl, those of another system's root too. */
export async function requireSystemctl(): Promise<void> {
  const answer = await run("systemctl", ["--version"]).catch(() => undefined);
  if (answer?.code === 0) return;
  throw new CliError("packages_missing", "This machine has no systemctl, which is in the package systemd.", {
    remediation: `Nothing was changed. Run: ${installCommand(["systemd"])}`,
  });
}

export function systemctl(...args: readonly string[]): Promise<string> {
  return mustRun("systemctl", args, { deadlineMs: DEADLINE_MS });
}

/** In the place of those of an earlier version, which may have had others. Enabled, so that they start with the machine. */
export async function writeUnits(installation: Installation, layout: Layout): Promise<void> {
  const folder = under(installation, installation.units);
  const files = unitFiles(installation, layout);
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(files))
    await writeFile(join(folder, name), text, { mode: 0o644 });
  const stale = Object.values(units).filter((name) => files[name] === undefined);
  for (const name of stale) await rm(join(folder, name), { force: true });
  await systemctl(...rootOf(installation), "enable", units.target);
  if (installation.root === "") await systemctl("daemon-reload");
}

export async function removeUnits(installation: Installation): Promise<void> {
  const folder = under(installation, installation.units);
  await run("systemctl", [...rootOf(installation), "disable", units.target]);
  for (const name of Object.values(units)) {
    await rm(join(folder, name), { force: true });
    await rm(join(folder, `${name}.d`), { recursive: true, force: true });
  }
  if (installation.root === "") {
    await systemctl("daemon-reload");
    await run("systemctl", ["reset-failed", "skerry-*"]);
  }
}

export async function hasUnits(installation: Installation): Promise<boolean> {
  const names = await readdir(under(installation, installation.units)).catch(() => [] as string[]);
  return names.includes(units.target);
}

/** What the servers said last. */
export async function lastJournalLines(): Promise<string[]> {
  const patterns = Object.values(units).flatMap((name) => ["--unit", name]);
  const answer = await run("journalctl", [
    "--no-pager",
    "--output=cat",
    "-n",
    String(LOG_LINES),
    ...patterns,
  ]).catch(() => undefined);
  return answer?.stdout.trim().split("\n") ?? [];
}

function rootOf({ root }: Installation): string[] {
  return root === "" ? [] : [`--root=${root}`];
}
