// Where one installation keeps everything, and under which users its processes run. All of it follows from the state folder.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Environment } from "@skerry/sdk/saved-settings";
import { environment } from "../../config.ts";
import { CliError } from "../../errors/errors.ts";
import { adoptInstalledSettings } from "./installed-settings.ts";

export interface Layout {
  readonly state: string;
  /** `dist/` of the checkout: the programs and native pieces. */
  readonly dist: string;
  readonly templates: string;
  /** Sockets, locks and the supervisor's file. */
  readonly run: string;
  readonly hostState: string;
  /** Kernel, images and frozen templates. */
  readonly hostAssets: string;
  readonly hostSocket: string;
  readonly postgresData: string;
  readonly postgresSocketFolder: string;
  /** Of the keys above all that control seals. */
  readonly rootKeyFile: string;
  readonly logs: string;
  readonly supervisorFile: string;
  readonly listen: string;
  readonly apiUrl: string;
  /** Set where this machine is a host of a control plane elsewhere. */
  readonly joined: Joined | undefined;
  /** Set where the administrator brings a PostgreSQL; then ours is not started. */
  readonly externalDatabaseUrl: string | undefined;
}

/** In the state folder while a backup is being restored there: what else there is, is a half of it. */
export const RESTORING = "restoring";

export const DEFAULT_STATE = "/var/lib/skerry";
const DEFAULT_LISTEN = "127.0.0.1:7070";
/** Of `sun_path`, without the zero at its end. */
const SOCKET_PATH_MAX_BYTES = 107;
/** The longest names of sockets that the host makes below the two folders. Those of PostgreSQL and of the servers are shorter. */
const LONGEST_IN_STATE = "/host/vms/sbx_01kb3x0q9vt5c7r2m8n4p6w1yz/agent.sock";
const LONGEST_IN_ASSETS = "/frozen/building-01234567/state.sock";
export const STATE_MAX_BYTES = SOCKET_PATH_MAX_BYTES - LONGEST_IN_STATE.length;
const ASSETS_MAX_BYTES = SOCKET_PATH_MAX_BYTES - LONGEST_IN_ASSETS.length;

/** `dist` is the folder that this program was built into. */
export function readLayout(dist: string, env: Environment = environment()): Layout {
  const state = env["SKERRY_STATE"] ?? DEFAULT_STATE;
  requireShortPath("SKERRY_STATE", state, STATE_MAX_BYTES);
  const hostAssets = env["SKERRY_HOST_ASSETS"] ?? join(state, "host/assets");
  requireShortPath("SKERRY_HOST_ASSETS", hostAssets, ASSETS_MAX_BYTES);
  const listen = env["SKERRY_LISTEN"] ?? DEFAULT_LISTEN;
  return {
    state,
    dist,
    templates: env["SKERRY_TEMPLATES"] ?? join(dist, "../templates"),
    hostAssets,
    run: join(state, "run"),
    hostState: join(state, "host"),
    hostSocket: join(state, "run/host.sock"),
    postgresData: join(state, "postgres"),
    postgresSocketFolder: join(state, "run/postgres"),
    rootKeyFile: env["SKERRY_ROOT_KEY_FILE"] ?? join(state, "keys/root.key"),
    logs: join(state, "log"),
    supervisorFile: join(state, "run/supervisor.json"),
    listen,
    apiUrl: `http://${listen.replace(/^0\.0\.0\.0:/, "127.0.0.1:").replace(/^\[::\]:/, "[::1]:")}`,
    joined: readJoined(state),
    externalDatabaseUrl: env["SKERRY_DATABASE_URL"],
  };
}

/** Whose host this machine is, as `skerry host join` wrote it down. */
export interface Joined {
  /** Address of the control plane's API. */
  readonly control: string;
  /** What the host is called there. */
  readonly name: string;
  /** Where control reaches it, and where it listens for that; ADDRESS:PORT. */
  readonly address: string;
  readonly listen: string;
}

export function joinedFile(state: string): string {
  return join(state, "joined.json");
}

function readJoined(state: string): Joined | undefined {
  try {
    return JSON.parse(readFileSync(joinedFile(state), "utf8")) as Joined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Who may not enter the folder may not start anything in it either.
    if (code === "ENOENT" || code === "EACCES" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** Bundled, every module lies in `dist/` or `dist/chunks/`. */
export function ownLayout(): Layout {
  const folder = dirname(fileURLToPath(import.meta.url));
  const dist = folder.endsWith("/chunks") ? dirname(folder) : folder;
  adoptInstalledSettings(dist);
  return readLayout(dist);
}

function requireShortPath(name: string, path: string, maxBytes: number): void {
  const bytes = Buffer.byteLength(path);
  if (path.startsWith("/") && bytes <= maxBytes) return;
  throw new CliError(
    "bad_setting",
    `${name} must be an absolute path of at most ${maxBytes} bytes; "${path}" has ${bytes}.`,
    {
      remediation: `Sockets are made below it, and Linux takes ${SOCKET_PATH_MAX_BYTES} bytes of a socket's path.`,
    },
  );
}

/** The connection string that control gets: a socket in a folder that only its user enters, so no password. */
export function databaseUrl(layout: Layout): string {
  return (
    layout.externalDatabaseUrl ??
    `postgresql:///skerry?host=${encodeURIComponent(layout.postgresSocketFolder)}&user=${SYSTEM_USER}`
  );
}

/** Runs control and PostgreSQL. QEMU has users of its own, and the host agent is root. */
export const SYSTEM_USER = "skerry";
