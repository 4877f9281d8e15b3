// Where the settings come from: flags, then the environment, then the file that `skerry up` writes. The only place
// that reads the environment.

import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { CliError } from "./errors.ts";

export const DEFAULT_API_URL = "http://127.0.0.1:7070";

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

/** What the file holds. */
export interface SavedConfig {
  readonly api_url: string;
  readonly token: string;
  /** Where the token works instead of its own organization. */
  readonly organization?: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

let serviceSettings: Environment = {};

/** Those of an installed service, which count where the environment says nothing. */
export function useSettings(settings: Environment): void {
  serviceSettings = settings;
}

/** For the local commands, whose servers inherit parts of it. */
export function environment(): Environment {
  return { ...serviceSettings, ...process.env };
}

export async function readSettings(flags: Flags, env: Environment = process.env): Promise<Settings> {
  const apiUrl = flags.apiUrl ?? nonEmpty(env["SKERRY_API_URL"]);
  const token = flags.token ?? nonEmpty(env["SKERRY_API_TOKEN"]);
  // A file that nothing is needed from cannot get in the way.
  const saved = apiUrl === undefined || token === undefined ? await readConfig(env) : {};
  return {
    apiUrl: apiUrl ?? saved.api_url ?? DEFAULT_API_URL,
    token: token ?? saved.token,
    organization:
      // The saved organization was chosen for the saved token; another one's user may not be in it.
      flags.org ?? nonEmpty(env["SKERRY_ORG_ID"]) ?? (token === undefined ? saved.organization : undefined),
  };
}

/** What the file holds, for commands that change a part of it. */
export function readSaved(env: Environment = process.env): Promise<Partial<SavedConfig>> {
  return readConfig(env);
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

/** Where `skerry up` saves its token while the usual file has settings for another server. */
export function localConfigPath(env: Environment = process.env): string {
  return join(dirname(configPath(env)), "local.json");
}

export function configPath(env: Environment = process.env): string {
  const xdg = env["XDG_CONFIG_HOME"];
  // The XDG specification says to ignore a relative one.
  const base =
    xdg !== undefined && isAbsolute(xdg) ? xdg : join(nonEmpty(env["HOME"]) ?? homedir(), ".config");
  return join(base, "skerry", "config.json");
}

/** NO_COLOR counts when it is set to anything but the empty string (no-color.org). */
export function isColorWanted(env: Environment = process.env): boolean {
  return nonEmpty(env["NO_COLOR"]) === undefined && env["TERM"] !== "dumb";
}

/** Whether a terminal can draw over a line that it has shown; a log of CI that says it is one cannot. */
export function isAnimationWanted(env: Environment = process.env): boolean {
  return env["TERM"] !== "dumb" && nonEmpty(env["CI"]) === undefined;
}

async function readConfig(env: Environment): Promise<Partial<SavedConfig>> {
  const path = configPath(env);
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return {};
  await refuseIfShared(path);
  return parseConfig(path, text);
}

/** A token that other users of the machine can read is not a secret any more; going on would hide it. */
async function refuseIfShared(path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & 0o077) === 0) return;
  throw new CliError("config_not_private", `Other users can read ${path}, which holds a token.`, {
    remediation: `Run \`chmod 600 ${path}\`, and revoke the token if another user may have read it.`,
  });
}

function parseConfig(path: string, text: string): Partial<SavedConfig> {
  const broken = (what: string) =>
    new CliError("config_broken", `${path} ${what}.`, {
      remediation: "Repair it, or delete it and run `skerry up` again.",
    });
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch {
    throw broken("is not JSON");
  }
  if (typeof config !== "object" || config === null) throw broken("does not hold an object");
  const { api_url, token, organization } = config as Readonly<Record<string, unknown>>;
  for (const [name, value] of Object.entries({ api_url, token, organization }))
    if (value !== undefined && typeof value !== "string")
      throw broken(`has a field ${name} that is not a string`);
  return config;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === "" ? undefined : text.trim();
}
