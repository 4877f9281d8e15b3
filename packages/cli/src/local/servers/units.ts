// The systemd units that run an installation instead of `skerry up`, and whether they do.

import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CliError } from "../../errors/errors.ts";
import { folderIdentity } from "../system/files.ts";
import type { Layout } from "../system/layout.ts";
import { identify, type ProcessIdentity } from "../system/processes.ts";
import { run } from "../system/run.ts";
import type { ServiceName } from "./supervisor-state.ts";

export const units = {
  target: "skerry.target",
  vms: "skerry-vms.service",
  postgres: "skerry-postgres.service",
  host: "skerry-host.service",
  control: "skerry-control.service",
} as const;

/** In the folder of sockets and locks. */
const MARKER = "units.json";

/** Called by the units themselves, as root. */
export async function markUnits({ run: folder }: Layout): Promise<void> {
  const file = join(folder, MARKER);
  // Whose file it is: that of a copied state folder says nothing about the copy.
  await writeFile(`${file}.part`, JSON.stringify({ folder: await folderIdentity(folder) }), { mode: 0o644 });
  await rename(`${file}.part`, file);
}

/** The folder can be run by `skerry up` again. */
export async function unmarkUnits(runFolder: string): Promise<void> {
  await rm(join(runFolder, MARKER), { force: true });
}

export async function runByUnits({ run: folder }: Layout): Promise<boolean> {
  try {
    const marker = JSON.parse(await readFile(join(folder, MARKER), "utf8")) as { folder: string };
    return marker.folder === (await folderIdentity(folder));
  } catch {
    return false;
  }
}

export async function isUnitActive(unit: string): Promise<boolean> {
  const answer = await run("systemctl", ["is-active", "--quiet", unit]).catch(() => undefined);
  return answer?.code === 0;
}

/** The main process of the unit; undefined while it has none. */
export async function processOfUnit(name: ServiceName): Promise<ProcessIdentity | undefined> {
  const answer = await run("systemctl", ["show", "--property=MainPID", "--value", units[name]]).catch(
    () => undefined,
  );
  const pid = Number(answer?.stdout ?? 0);
  return pid > 0 ? identify(pid) : undefined;
}

/** For commands that would do what systemd does here. */
export async function refuseUnits(layout: Layout, remediation: string): Promise<void> {
  if (!(await runByUnits(layout))) return;
  throw new CliError("run_by_systemd", `${layout.state} belongs to a service that systemd runs.`, {
    remediation,
  });
}
