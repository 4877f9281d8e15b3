// A second host on this machine: a process of its own with its own state folder, name and addresses, known to a platform's control.

import { spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { appendFile, chmod, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { newId } from "@skerry/contract/ids";
import { until, type Platform } from "./platform.ts";
import { run } from "./run.ts";

const root = join(import.meta.dirname, "../..");

export interface SecondHost {
  readonly id: string;
  readonly name: string;
  /** The host's own state folder: `vms/ID/vm.json` and so on. */
  readonly state: string;
  /** What its namespaces and processes are named after. */
  readonly instance: string;
  readonly socket: string;
  readonly pid: () => number;
  /** As `kill -9` does it; its VMs run on. */
  kill(): Promise<void>;
  /** Starts it again. */
  start(): Promise<void>;
  /** Ends it and destroys its VMs. */
  stop(): Promise<void>;
}

/** Whoever starts it stops it, before the platform. Its memory is small, so that nothing else of the tests is pushed aside. */
export async function joinHost(
  platform: Pick<Platform, "state" | "env">,
  { env = {} }: { readonly env?: Readonly<Record<string, string>> } = {},
): Promise<SecondHost> {
  const folder = await mkdtemp("/tmp/skerry-test-");
  await chmod(folder, 0o711);
  const state = join(folder, "host");
  const instance = `skerry-${createHash("sha256").update(state).digest("hex").slice(0, 6)}`;
  const register = process.env["SKERRY_TEST_REGISTER"];
  if (register !== undefined) await appendFile(register, `${instance} ${folder}\n`);
  const socket = join(folder, "host.sock");
  const name = `second-${instance.slice(-6)}`;
  const settings = {
    PATH: process.env["PATH"] ?? "",
    SKERRY_HOST_STATE: state,
    SKERRY_HOST_SOCKET: socket,
    SKERRY_HOST_SOCKET_GID: await groupOfControl(),
    SKERRY_HOST_ASSETS: platform.env["SKERRY_HOST_ASSETS"] ?? "",
    SKERRY_HOST_NAME: name,
    SKERRY_NATIVE: join(root, "dist/native"),
    SKERRY_TEMPLATES: platform.env["SKERRY_TEMPLATES"] ?? join(root, "templates"),
    SKERRY_VM_MEMORY_MIB: "2048",
    SKERRY_WARM_MIN: "0",
    ...env,
  };
  let child: ChildProcess | undefined;
  const kill = async (signal: NodeJS.Signals) => {
    const running = child;
    if (running === undefined) return;
    child = undefined;
    const ended = once(running, "exit");
    running.kill(signal);
    await ended;
  };
  const start = async () => {
    child = spawn(process.execPath, [join(root, "dist/host.js"), "serve"], {
      env: settings,
      stdio: "inherit",
    });
    await until("the second host answers", () => answers(socket));
  };
  await start();
  const id = await enter(platform, name, `unix:${socket}`);
  return {
    ...{ id, name, state, instance, socket, start },
    pid: () => child?.pid ?? 0,
    kill: () => kill("SIGKILL"),
    async stop() {
      await kill("SIGTERM");
      await new Promise<void>((resolve, reject) => {
        const clear = spawn(process.execPath, [join(root, "dist/host.js"), "clear"], {
          env: settings,
          stdio: "inherit",
        });
        clear.once("close", (code) =>
          code === 0 ? resolve() : reject(new Error(`clear ended with ${code}`)),
        );
      });
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function answers(socket: string): Promise<boolean> {
  return run("curl", "-sf", "--unix-socket", socket, "http://host/info").then(
    () => true,
    () => false,
  );
}

/** Control's group, which may use the socket. */
async function groupOfControl(): Promise<string> {
  return (await run("id", "-g", "skerry")).trim();
}

/** Writes its row, as a join would. */
async function enter(platform: Pick<Platform, "state">, name: string, address: string): Promise<string> {
  const id = newId("host");
  const sql = `insert into hosts (id, name, address, status, cpus, memory_mib, templates, facts, last_heartbeat)
    values ('${id}', '${name}', '${address}', 'offline', 0, 0, '[]', '{}', now())`;
  const socket = join(platform.state, "run/postgres");
  await run(
    "setpriv",
    "--reuid=skerry",
    "--regid=skerry",
    "--clear-groups",
    "psql",
    "-XAtq",
    "-h",
    socket,
    "-d",
    "skerry",
    "-c",
    sql,
  );
  return id;
}
