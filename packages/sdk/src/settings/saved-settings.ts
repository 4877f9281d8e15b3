// What a client uses where it is given no address and no token: the environment, then the file that `skerry auth login` and `skerry up` write.
// Node only. Elsewhere package.json puts `no-saved-settings.ts` in the place of this file.

import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { SkerryInputError } from "../errors/errors.ts";

export const DEFAULT_API_URL = "http://127.0.0.1:7070";

/** What the file holds. */
export interface SavedConfig {
  readonly api_url: string;
  readonly token: string;
  /** Where the token works instead of its own organization. */
  readonly organization?: string;
}

export interface ClientSettings {
  readonly baseUrl: string | undefined;
  readonly token: string | undefined;
  readonly organization: string | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** How a user of this runtime gives a token. */
export const tokenRemedy =
  "Give `token`, set SKERRY_API_TOKEN, or save a token with `skerry auth login`; `skerry up` saves one for its own server.";

/** What is given counts most, then the environment, then the file. A saved token is used for the server that it was saved for, and for no other one. */
export function findSettings(
  given: Partial<ClientSettings>,
  // The one place of the client that reads the environment.
  env: Environment = process.env,
): ClientSettings {
  const baseUrl = given.baseUrl ?? nonEmpty(env["SKERRY_API_URL"]);
  const token = given.token ?? nonEmpty(env["SKERRY_API_TOKEN"]);
  // A file that nothing is needed from cannot get in the way.
  const saved = baseUrl === undefined || token === undefined ? findSaved(baseUrl, env) : {};
  return {
    baseUrl: baseUrl ?? saved.api_url ?? DEFAULT_API_URL,
    token: token ?? saved.token,
    organization:
      // The saved organization was chosen for the saved token; another one's user may not be in it.
      given.organization ??
      nonEmpty(env["SKERRY_ORG_ID"]) ??
      (token === undefined ? saved.organization : undefined),
  };
}

/** What is saved for this server; without an address, what is in the usual file. */
function findSaved(baseUrl: string | undefined, env: Environment): Partial<SavedConfig> {
  const usual = readSavedConfig(configPath(env));
  if (baseUrl === undefined || isFor(usual, baseUrl)) return usual;
  const local = readSavedConfig(localConfigPath(env));
  return isFor(local, baseUrl) ? local : {};
}

function isFor({ api_url = DEFAULT_API_URL }: Partial<SavedConfig>, baseUrl: string): boolean {
  return normalized(api_url) === normalized(baseUrl);
}

/** What is no address is like no other one; the client refuses it by name. */
function normalized(address: string): string {
  return URL.canParse(address) ? new URL(address).href.replace(/\/+$/, "") : address;
}

export function configPath(env: Environment = process.env): string {
  const xdg = env["XDG_CONFIG_HOME"];
  // The XDG specification says to ignore a relative one.
  const base =
    xdg !== undefined && isAbsolute(xdg) ? xdg : join(nonEmpty(env["HOME"]) ?? homedir(), ".config");
  return join(base, "skerry", "config.json");
}

/** Where `skerry up` saves its token while the usual file has settings for another server. */
export function localConfigPath(env: Environment = process.env): string {
  return join(dirname(configPath(env)), "local.json");
}

/** Empty where there is no file. Code `config_not_private` or `config_broken` where it cannot be used. */
export function readSavedConfig(path: string): Partial<SavedConfig> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  refuseIfShared(path);
  return parsed(path, text);
}

/** A token that other users of the machine can read is not a secret any more; going on would hide it. */
function refuseIfShared(path: string): void {
  // Windows has no such permissions.
  if (process.platform === "win32" || (statSync(path).mode & 0o077) === 0) return;
  throw new SkerryInputError(
    `Other users can read ${path}, which holds a token.`,
    `Run \`chmod 600 ${path}\`, and revoke the token if another user may have read it.`,
    "config_not_private",
  );
}

function parsed(path: string, text: string): Partial<SavedConfig> {
  const broken = (what: string) =>
    new SkerryInputError(
      `${path} ${what}.`,
      "Repair it, or delete it and save a token again: `skerry auth login`, or `skerry up`.",
      "config_broken",
    );
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
