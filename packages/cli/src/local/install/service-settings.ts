// The environment file of the units: the settings that `skerry up` would read from its environment.

import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { environment } from "../../config.ts";
import { CliError } from "../../errors/errors.ts";
import { fileExists } from "../system/files.ts";
import { knownSettings } from "../system/known-settings.ts";
import type { Layout } from "../system/layout.ts";
import { readSettings, writeSettings } from "../system/settings-file.ts";
import { SETTINGS } from "../backup/manifest.ts";
import { under, type Installation } from "./installation.ts";

/** Of clients, and of what the units say themselves. */
const NOT_OURS = new Set([
  "SKERRY_API_URL",
  "SKERRY_API_TOKEN",
  "SKERRY_ORG_ID",
  "SKERRY_QUIET",
  "SKERRY_VM_CGROUP",
]);
const FOLDERS_OF_A_BOOT = ["/tmp", "/var/tmp", "/run", "/dev/shm"];

/** Those of the environment; of the rest, those that a restored backup or an earlier installation has left in the state folder. Only what is a
 *  setting of the service: root's programs start with this file as their environment. Returns the names of what was left out. */
export async function writeServiceSettings(
  installation: Installation,
  layout: Layout,
): Promise<readonly string[]> {
  const left = join(under(installation, layout.state), SETTINGS);
  const kept = (await fileExists(left)) ? readSettings(await readFile(left, "utf8")) : {};
  const given = Object.entries(environment()).filter(
    (entry): entry is [string, string] =>
      entry[0].startsWith("SKERRY_") && !NOT_OURS.has(entry[0]) && entry[1] !== undefined,
  );
  const all = Object.entries({ ...kept, ...Object.fromEntries(given), SKERRY_STATE: layout.state });
  const settings = Object.fromEntries(all.filter(([name]) => knownSettings.has(name)));
  const file = under(installation, installation.settings);
  await mkdir(dirname(file), { recursive: true, mode: 0o755 });
  await rm(`${file}.part`, { force: true });
  await writeFile(`${file}.part`, writeSettings(settings), { mode: 0o600, flag: "wx" });
  await rename(`${file}.part`, file);
  await rm(left, { force: true });
  return all.map(([name]) => name).filter((name) => !knownSettings.has(name));
}

/** For a later installation. */
export async function leaveSettings(installation: Installation, state: string): Promise<void> {
  const text = await readFile(under(installation, installation.settings), "utf8").catch(() => undefined);
  if (text === undefined || !(await fileExists(under(installation, state)))) return;
  await writeFile(join(under(installation, state), SETTINGS), text, { mode: 0o600 });
}

export function requireLastingState({ state }: Layout): void {
  if (!FOLDERS_OF_A_BOOT.some((folder) => state === folder || state.startsWith(`${folder}/`))) return;
  throw new CliError("bad_setting", `${state} does not outlast a reboot, or is private to each unit.`, {
    remediation: "Set SKERRY_STATE to another folder, for example /var/lib/skerry.",
  });
}
