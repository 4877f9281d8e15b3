// A whole Skerry of the tests' own: state folder, port, PostgreSQL, host and control, started by the same command as a user's.

import { createHash, randomInt } from "node:crypto";
import { spawn } from "node:child_process";
import { appendFile, chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { limitNames } from "@skerry/contract/limits/quotas";
import { Skerry } from "../../packages/sdk/src/skerry.ts";
import { namespacesInUse, qemuProcesses } from "./leftovers.ts";
import { copyDatabase } from "./prepared-database.ts";
import { imageCache } from "./test-cache.ts";

const root = join(import.meta.dirname, "../..");

export interface Platform {
  readonly state: string;
  readonly apiUrl: string;
  readonly token: string;
  readonly client: Skerry;
  /** What its namespaces and processes are named after. */
  readonly instance: string;
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** For platforms whose tests wait for what background services do. Their own periods are tried in `hosts.test.ts` and `kill.test.ts`. */
export const eagerServices = {
  SKERRY_HEARTBEAT_INTERVAL_MS: "1000",
  SKERRY_REAPER_INTERVAL_MS: "1000",
  SKERRY_IDLE_PAUSER_INTERVAL_MS: "1000",
  SKERRY_RUN_ENDER_INTERVAL_MS: "1000",
  SKERRY_BUILDER_INTERVAL_MS: "1000",
  SKERRY_DRAIN_INTERVAL_MS: "1000",
  SKERRY_MOVER_INTERVAL_MS: "1000",
} as const;

/** For platforms and hosts whose tests try neither clones that wait nor slots that do: each costs CPU time at
 *  every start, and emulated guests need it. */
export const nothingWaits = { SKERRY_WARM_MAX: "0", SKERRY_READY_SLOTS: "2" } as const;

export interface PlatformOptions {
  readonly assets: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** What a limit costs is part of every measurement; that it stops one is not. Tests of limits set their own. */
const unlimited: Readonly<Record<string, string>> = Object.fromEntries(
  limitNames.map((name) => [`SKERRY_${name.toUpperCase()}`, "100000000"]),
);

/** Folder and settings for a Skerry that nobody has started yet. Whoever makes it runs `down` in the end and removes the folder. */
export async function newInstallation(
  options: PlatformOptions,
): Promise<{ readonly state: string; readonly env: Readonly<Record<string, string>> }> {
  const state = await mkdtemp("/tmp/skerry-test-");
  await chmod(state, 0o711);
  const register = process.env["SKERRY_TEST_REGISTER"];
  if (register !== undefined) await appendFile(register, `${instanceOf(state)} ${state}\n`);
  const env = {
    SKERRY_STATE: state,
    SKERRY_LISTEN: `127.0.0.1:${await freePort()}`,
    SKERRY_HOST_ASSETS: options.assets,
    SKERRY_IMAGE_CACHE: imageCache,
    XDG_CONFIG_HOME: join(state, "config"),
    ...unlimited,
    ...options.env,
  };
  return { state, env };
}

/** Starts a platform in a folder of its own under /tmp, on a copy of a database that is prepared. The caller stops it. */
export async function startPlatform(options: PlatformOptions): Promise<Platform> {
  const installation = await newInstallation(options);
  if (installation.env["SKERRY_DATABASE_URL"] === undefined) await copyDatabase(installation.state);
  return startInstallation(installation);
}

/** A start that fails leaves nothing behind. */
export async function startInstallation({ state, env }: Pick<Platform, "state" | "env">): Promise<Platform> {
  try {
    await skerry(env, "up");
  } catch (error) {
    await skerry(env, "down").catch(() => undefined);
    await rm(state, { recursive: true, force: true });
    throw error;
  }
  const platform = await openPlatform(state, env);
  return {
    ...platform,
    async stop() {
      await skerry(env, "down");
      await rm(state, { recursive: true, force: true });
    },
  };
}

/** Reads what `skerry up` has saved in a platform's folder. */
export async function openPlatform(
  state: string,
  env: Readonly<Record<string, string>>,
): Promise<Omit<Platform, "stop">> {
  const config = await readFile(join(state, "config/skerry/config.json"), "utf8");
  const { api_url: apiUrl, token } = JSON.parse(config) as { api_url: string; token: string };
  const client = new Skerry({ baseUrl: apiUrl, token });
  return { state, apiUrl, token, client, instance: instanceOf(state), env };
}

/** As the host names its processes, namespaces and cgroups. */
function instanceOf(state: string): string {
  return `skerry-${createHash("sha256").update(join(state, "host")).digest("hex").slice(0, 6)}`;
}

/** Runs the built `skerry` command to its end. Resolves with stdout, rejects with everything it said. */
export function skerry(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<string> {
  return runSkerry([], env, args);
}

/** The same on a machine apart: in this network namespace. */
export function skerryIn(
  namespace: string,
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<string> {
  return runSkerry(["nsenter", `--net=/run/netns/${namespace}`], env, args);
}

/** The same from a session whose processes may open so many files. */
export function skerryWithFiles(
  files: number,
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<string> {
  return runSkerry(["prlimit", `--nofile=${files}:${files}`], env, args);
}

function runSkerry(
  before: readonly string[],
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<string> {
  const [program = "", ...rest] = [...before, process.execPath, join(root, "dist/skerry.js"), ...args];
  return new Promise((resolve, reject) => {
    const child = spawn(program, rest, {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let all = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      all += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => (all += text));
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0 ? resolve(stdout) : reject(new Error(`skerry ${args.join(" ")} ended with ${code}: ${all}`)),
    );
  });
}

/** A call as curl would make it: for what the client library does not let one send. */
export function call(
  platform: Pick<Platform, "apiUrl" | "token">,
  method: string,
  path: string,
  init: {
    body?: unknown;
    headers?: Record<string, string>;
    raw?: RequestInit["body"];
    signal?: AbortSignal;
  } = {},
): Promise<Response> {
  return fetch(`${platform.apiUrl}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${platform.token}`,
      ...(init.body === undefined ? {} : { "content-type": "application/json" }),
      ...init.headers,
    },
    ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
    ...(init.raw === undefined ? {} : { body: init.raw, duplex: "half" }),
    ...(init.signal === undefined ? {} : { signal: init.signal }),
  } as RequestInit);
}

/** How a host calls what waits. */
const WARM_PREFIX = "warm_";

/** What must agree with each other, counted where each of it really is. */
export interface Inventory {
  readonly processes: number;
  readonly namespaces: number;
  readonly overlays: number;
  readonly runningRows: number;
  /** Neither here nor gone: a reconciler has work left. */
  readonly unsettledRows: number;
}

export async function inventory(platform: Omit<Platform, "stop">): Promise<Inventory> {
  const vms = join(platform.state, "host/vms");
  const qemus = await qemuProcesses(platform.instance);
  // After the processes: a clone that waits has its folder for as long as it does, and a process only in that time.
  const all = await readdir(vms).catch(() => [] as string[]);
  const folders = all.filter((name) => !name.startsWith(WARM_PREFIX));
  const contents = await Promise.all(
    folders.map((folder) => readdir(join(vms, folder)).catch(() => [] as string[])),
  );
  const rows: string[] = [];
  for await (const sandbox of platform.client.sandboxes.list()) rows.push(sandbox.info.status);
  return {
    processes: qemus.filter(({ vm }) => !vm.startsWith(WARM_PREFIX) || !all.includes(vm)).length,
    namespaces: (await namespacesInUse(`${platform.instance}-`)).length,
    overlays: contents.filter((names) => names.includes("disk.qcow2")).length,
    runningRows: rows.filter((status) => status === "running").length,
    unsettledRows: rows.filter((status) => ["creating", "pausing", "resuming", "destroying"].includes(status))
      .length,
  };
}

/** Clones that wait for somebody to ask for a VM: folder names. */
export async function waitingClones(platform: Pick<Platform, "state">): Promise<string[]> {
  const names = await readdir(join(platform.state, "host/vms")).catch(() => [] as string[]);
  return names.filter((name) => name.startsWith(WARM_PREFIX));
}

/** The host's own record of a sandbox. */
export async function qemuPidOf(platform: Pick<Platform, "state">, id: string): Promise<number> {
  const text = await readFile(join(platform.state, "host/vms", id, "vm.json"), "utf8");
  const { process } = JSON.parse(text) as { process?: { pid: number } };
  if (process === undefined) throw new Error(`no process runs ${id}`);
  return process.pid;
}

/** Of the process that runs now; the supervisor starts another one in the place of one that is killed. */
export async function serverPid(
  platform: Pick<Platform, "state">,
  server: "control" | "host" | "supervisor" | "postgres",
): Promise<number> {
  if (server === "postgres") {
    const postmaster = await readFile(join(platform.state, "postgres/postmaster.pid"), "utf8");
    return Number(postmaster.split("\n")[0]);
  }
  const text = await readFile(join(platform.state, "run/supervisor.json"), "utf8");
  const { supervisor, services } = JSON.parse(text) as {
    supervisor: { pid: number };
    services: Record<string, { pid: number } | undefined>;
  };
  const identity = server === "supervisor" ? supervisor : services[server];
  if (identity === undefined) throw new Error(`${server} does not run`);
  return identity.pid;
}

/** The supervisor has started another process. Before that, children which PostgreSQL's main process left behind may answer once more. */
export function untilReplaced(
  platform: Pick<Platform, "state">,
  server: "control" | "host" | "postgres",
  killed: number,
): Promise<void> {
  return until(`another ${server} runs`, async () =>
    serverPid(platform, server).then(
      (pid) => pid !== killed,
      () => false,
    ),
  );
}

/** Waits until a condition holds. The deadline is against hanging, also where it is for a boot on a busy machine; no test measures with it. */
export async function until(
  what: string,
  condition: () => Promise<boolean>,
  deadlineMs = 120_000,
): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`it never came true that ${what}`);
    await sleep(200);
  }
}

/** Nobody is given a port below by the kernel, which hands out ephemeral ones for connections as well: one of those could be taken before its
 *  server listens. */
const PORTS = { first: 20_000, behindLast: 32_768 };

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.first, PORTS.behindLast);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) =>
      server.once("error", () => resolve(false)).listen(port, () => resolve(true)),
    );
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
