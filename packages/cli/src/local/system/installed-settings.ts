// A command that belongs to an installed service works with that service's settings, so that `sudo skerry backup FILE` means it.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { environment, useSettings } from "../../config.ts";
import { readSettings } from "./settings-file.ts";

/** What `install/installation.ts` writes. */
interface Installed {
  readonly settings: string;
  readonly state: string;
  readonly listen: string;
}

/** `dist`: of this program. Another state folder in the environment means another installation. */
export function adoptInstalledSettings(dist: string): void {
  const record = readInstallation(dist);
  if (record === undefined) return;
  const { settings, state, listen } = record;
  // Only root may read the file; others need no more than this to ask what runs.
  const text = readIfThere(settings);
  useSettings({
    SKERRY_STATE: state,
    SKERRY_LISTEN: listen,
    ...(text === undefined ? {} : readSettings(text)),
  });
}

/** The text of the settings file; undefined where this program belongs to no service, or another state folder is meant. */
export function installedSettings(dist: string): string | undefined {
  const record = readInstallation(dist);
  return record === undefined ? undefined : readIfThere(record.settings);
}

function readInstallation(dist: string): Installed | undefined {
  const text = readIfThere(join(dirname(dirname(dist)), "installation.json"));
  if (text === undefined) return undefined;
  const record = JSON.parse(text) as Installed;
  const given = environment()["SKERRY_STATE"];
  return given === undefined || given === record.state ? record : undefined;
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "EACCES" || code === "ENOTDIR") return undefined;
    throw error;
  }
}
