// The first user, organization and token, saved for the user who called `skerry up`. A saved token that still works is kept, and so are
// settings for another server: then ours are saved beside them.

import { readFile, rm } from "node:fs/promises";
import { configPath, DEFAULT_API_URL, localConfigPath } from "@skerry/sdk/saved-settings";
import { environment, writeConfig } from "../../config.ts";
import type { Layout } from "../system/layout.ts";
import { mustRun, run } from "../system/run.ts";
import { controlEnvironment } from "./services.ts";
import type { SystemUser } from "../system/system-user.ts";

interface Caller {
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

interface Saved {
  readonly api_url?: string;
  readonly token?: string;
}

const REQUEST_DEADLINE_MS = 10_000;

/** Returns what to tell the user about it. Call it only when it is known that it is our control that listens. */
export async function ensureToken(layout: Layout, user: SystemUser): Promise<string> {
  const caller = await callingUser();
  const [usual, beside] = settingsPaths(caller);
  const kept = await settingsForAnother(layout, usual);
  const path = kept === undefined ? usual : beside;
  if (!(await savedTokenWorks(layout, path))) {
    const token = await makeToken(layout, user, "skerry up");
    await asCaller(caller, () => writeConfig({ api_url: layout.apiUrl, token }, path));
  }
  if (kept === undefined) {
    await asCaller(caller, () => rm(beside, { force: true }));
    return `Skerry answers at ${layout.apiUrl}; its token is in ${path}`;
  }
  return `Skerry answers at ${layout.apiUrl}; its token is in ${path}, because ${usual} ${kept} and was kept.
To use this one from now on: mv ${path} ${usual}
To use it in this shell: export SKERRY_API_URL=${layout.apiUrl} SKERRY_API_TOKEN=$(sed -n 's/.*"token": "\\(.*\\)".*/\\1/p' ${path})`;
}

/** The token that `ensureToken` has saved for this user; undefined where there is none. Whether it still works is not asked. */
export async function savedToken(layout: Layout): Promise<string | undefined> {
  for (const path of settingsPaths(await callingUser())) {
    const token = await tokenIn(layout, path);
    if (token !== undefined) return token;
  }
  return undefined;
}

/** The usual file, and the one beside it. */
function settingsPaths(caller: Caller | undefined): readonly [string, string] {
  const env = caller === undefined ? environment() : { ...environment(), HOME: caller.home };
  return [configPath(env), localConfigPath(env)];
}

async function tokenIn(layout: Layout, path: string): Promise<string | undefined> {
  const saved = parse(await readFile(path, "utf8").catch(() => ""));
  return (saved?.api_url ?? DEFAULT_API_URL) === layout.apiUrl ? saved?.token : undefined;
}

/** Why the file must not be overwritten; undefined where it may be. */
async function settingsForAnother(layout: Layout, path: string): Promise<string | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const apiUrl = parse(text)?.api_url ?? (parse(text)?.token === undefined ? undefined : DEFAULT_API_URL);
  if (apiUrl === undefined) return "holds something else";
  return apiUrl === layout.apiUrl ? undefined : `is for ${apiUrl}`;
}

async function savedTokenWorks(layout: Layout, path: string): Promise<boolean> {
  const token = await tokenIn(layout, path);
  if (token === undefined) return false;
  const response = await fetch(`${layout.apiUrl}/v1/sandboxes?limit=1`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(REQUEST_DEADLINE_MS),
    redirect: "error",
  });
  await response.arrayBuffer();
  return response.ok;
}

function parse(text: string): Saved | undefined {
  try {
    return JSON.parse(text) as Saved;
  } catch {
    return undefined;
  }
}

/** A new one of the operator's first user, with every scope. Needs root, and the database to run. */
export async function makeToken(layout: Layout, user: SystemUser, name: string): Promise<string> {
  const args = ["--enable-source-maps", `${layout.dist}/control.js`, "bootstrap", "--name", name];
  const line = await mustRun(process.execPath, args, {
    env: { PATH: environment()["PATH"], ...controlEnvironment(layout, user), SKERRY_LOG_LEVEL: "silent" },
  });
  return (JSON.parse(line) as { token: string }).token;
}

/** Under sudo the settings belong to the user who typed it. */
async function callingUser(): Promise<Caller | undefined> {
  const uid = environment()["SUDO_UID"];
  if (uid === undefined || uid === "0") return undefined;
  const { code, stdout } = await run("getent", ["passwd", uid]);
  const [, , , gid, , home] = stdout.trim().split(":");
  if (code !== 0 || gid === undefined || home === undefined) return undefined;
  return { uid: Number(uid), gid: Number(gid), home };
}

/** Works in the caller's folders with the caller's rights: what is made there is theirs, and no link of theirs leads root astray. */
async function asCaller(caller: Caller | undefined, work: () => Promise<unknown>): Promise<void> {
  if (caller !== undefined) {
    process.setegid?.(caller.gid);
    process.seteuid?.(caller.uid);
  }
  try {
    await work();
  } finally {
    if (caller !== undefined) {
      process.seteuid?.(0);
      process.setegid?.(0);
    }
  }
}
