// Where the settings come from: flags, then the environment, then the file that `skerry auth login` and `skerry up` write. The only place that
// reads the environment; what environment and file mean is the TypeScript client's code, so that both find the same.

import { randomBytes } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import {
  configPath,
  DEFAULT_API_URL,
  findSettings,
  readSavedConfig,
  type Environment,
  type SavedConfig,
} from "@skerry/sdk/saved-settings";

/** The flags that every command has. */
export interface Flags {
  readonly apiUrl?: string;
  readonly token?: string;
  readonly org?: string;
}

export interface Settings {
  readonly apiUrl: string;
  readonly token: string | undefined;
  readonly organization: string | undefined;
}

let serviceSettings: Environment = {};

/** Those of an installed service, which count where the environment says nothing. */
export function useSettings(settings: Environment): void {
  serviceSettings = settings;
}

/** For the local commands, whose servers inherit parts of it. */
export function environment(): Environment {
  return { ...serviceSettings, ...process.env };
}

/** For flags that take a variable of the caller along. */
export function environmentHere(): Environment {
  return process.env;
}

export function readSettings({ apiUrl, token, org }: Flags, env: Environment = process.env): Settings {
  const found = findSettings({ baseUrl: apiUrl, token, organization: org }, env);
  return {
    apiUrl: found.baseUrl ?? DEFAULT_API_URL,
    token: found.token,
    organization: found.organization,
  };
}

/** The address of the dashboard, with a slash at the end. */
export function dashboardOf({ apiUrl }: Pick<Settings, "apiUrl">): string {
  return `${apiUrl.replace(/\/+$/, "")}/ui/`;
}

/** The address that a flag or the environment names; saved settings do not count. */
export function namedApiUrl({ apiUrl }: Flags, env: Environment = process.env): string | undefined {
  const named = env["SKERRY_API_URL"];
  return apiUrl ?? (named === "" ? undefined : named);
}

/** What the file holds, for commands that change a part of it. */
export function readSaved(env: Environment = process.env): Partial<SavedConfig> {
  return readSavedConfig(configPath(env));
}

/** Saves the settings for the user of this process, and readable by no other user. */
export async function writeConfig(config: Partial<SavedConfig>, path: string): Promise<void> {
  const beside = `${path}.${randomBytes(6).toString("hex")}`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    await writeFile(beside, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
    await rename(beside, path);
  } finally {
    await rm(beside, { force: true });
  }
}

/** NO_COLOR counts when it is set to anything but the empty string (no-color.org). */
export function isColorWanted(env: Environment = process.env): boolean {
  return (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
}

/** Whether standard error gets no words about waiting; for scripts that read it. */
/** What the person's terminal is, as programs know it; undefined where there is none. */
export function terminalType(env: Environment = process.env): string | undefined {
  return env["TERM"] === "" ? undefined : env["TERM"];
}

export function isQuiet(env: Environment = process.env): boolean {
  return (env["SKERRY_QUIET"] ?? "") !== "";
}

/** Whether a terminal can draw over a line that it has shown; a log of CI that says it is one cannot. */
export function isAnimationWanted(env: Environment = process.env): boolean {
  return env["TERM"] !== "dumb" && (env["CI"] ?? "") === "";
}
