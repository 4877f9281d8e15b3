// Where `skerry install` puts what, and what it writes down for the commands that come after it.

import { readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CliError } from "../../errors/errors.ts";
import type { Layout } from "../system/layout.ts";

export const DEFAULT_PREFIX = "/usr/local";
const RECORD = "installation.json";

/** All paths are as the units see them; `under` says where they are for this process. */
export interface Installation {
  /** Empty, or the folder of another system's root. */
  readonly root: string;
  readonly prefix: string;
  /** Programs: a folder for each version, and `current`, a link to one. */
  readonly lib: string;
  /** The command in PATH. */
  readonly command: string;
  readonly units: string;
  /** Environment file of the units; holds secrets. */
  readonly settings: string;
}

/** What any user may know of it. `system/installed-settings.ts` reads it. */
export interface InstallationRecord {
  readonly prefix: string;
  readonly settings: string;
  readonly state: string;
  readonly listen: string;
}

export function installationAt({ root, prefix }: Pick<Installation, "root" | "prefix">): Installation {
  for (const path of [root, prefix])
    if (path !== "" && !/^\/[\w./-]*$/.test(path))
      throw new CliError(
        "bad_setting",
        `"${path}" must be an absolute path of letters, digits, dots and dashes.`,
      );
  const clean = root.replace(/\/+$/, "");
  return {
    root: clean,
    prefix,
    lib: join(prefix, "lib/skerry"),
    command: join(prefix, "bin/skerry"),
    units: "/etc/systemd/system",
    settings: "/etc/skerry/skerry.env",
  };
}

/** The one that this program belongs to, below its `lib`. */
export function ownInstallation({ dist }: Layout): Installation {
  return installationAt({ root: "", prefix: dirname(dirname(dirname(dirname(dist)))) });
}

export function under({ root }: Installation, path: string): string {
  return `${root}${path}`;
}

export async function readRecord(installation: Installation): Promise<InstallationRecord | undefined> {
  const file = under(installation, join(installation.lib, RECORD));
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  return text === undefined ? undefined : (JSON.parse(text) as InstallationRecord);
}

export async function writeRecord(installation: Installation, layout: Layout): Promise<void> {
  const file = under(installation, join(installation.lib, RECORD));
  const { prefix, settings } = installation;
  const record: InstallationRecord = { prefix, settings, state: layout.state, listen: layout.listen };
  await writeFile(`${file}.part`, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o644 });
  await rename(`${file}.part`, file);
}
