// A second host on this machine, joined to a platform's control as an operator would join another machine: with its own state folder,
// name, addresses and port.

import { createHash } from "node:crypto";
import { appendFile, chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { MachineApart } from "./machine-apart.ts";
import { freePort, nothingWaits, skerry, skerryIn, type Platform } from "./platform.ts";
import { imageCache } from "./test-cache.ts";

export interface SecondHost {
  readonly id: string;
  readonly name: string;
  /** Where control reaches it, ADDRESS:PORT. */
  readonly address: string;
  /** Settings of `skerry` commands for it. */
  readonly env: Readonly<Record<string, string>>;
  /** The host's own state folder: `vms/ID/vm.json` and so on. */
  readonly state: string;
  /** What its namespaces and processes are named after. */
  readonly instance: string;
  readonly socket: string;
  pid(): Promise<number>;
  /** As `kill -9` does it, with its supervisor; its VMs run on. */
  kill(): Promise<void>;
  /** Starts it again. */
  start(): Promise<void>;
  /** Ends it and destroys its VMs. */
  stop(): Promise<void>;
}

/** A folder and settings for a host that nobody has started yet. Its memory is small, and nothing waits on it, so that it takes little from
 *  the other tests. */
export async function newHostFolder(
  platform: Pick<Platform, "env">,
  env: Readonly<Record<string, string>> = {},
): Promise<Pick<SecondHost, "env" | "instance" | "name" | "state"> & { readonly folder: string }> {
  const folder = await mkdtemp("/tmp/skerry-test-");
  await chmod(folder, 0o711);
  const state = join(folder, "host");
  const digest = createHash("sha256").update(state).digest("hex").slice(0, 6);
  const register = process.env["SKERRY_TEST_REGISTER"];
  if (register !== undefined) await appendFile(register, `skerry-${digest} ${folder}\n`);
  const settings = {
    SKERRY_STATE: folder,
    SKERRY_HOST_ASSETS: platform.env["SKERRY_HOST_ASSETS"] ?? "",
    SKERRY_IMAGE_CACHE: imageCache,
    SKERRY_VM_MEMORY_MIB: "2048",
    ...nothingWaits,
    XDG_CONFIG_HOME: join(folder, "config"),
    ...env,
  };
  return { folder, state, env: settings, instance: `skerry-${digest}`, name: `second-${digest}` };
}

/** Whoever starts it stops it, before the platform. `on`: a machine apart, to which the platform's API must listen. */
export async function joinHost(
  platform: Pick<Platform, "apiUrl" | "env">,
  { env = {}, on }: { readonly env?: Readonly<Record<string, string>>; readonly on?: MachineApart } = {},
): Promise<SecondHost> {
  const { folder, ...host } = await newHostFolder(platform, env);
  const address = on === undefined ? `127.0.0.1:${await freePort()}` : `${on.there}:7071`;
  const there = (...args: readonly string[]) =>
    on === undefined ? skerry(host.env, ...args) : skerryIn(on.namespace, host.env, ...args);
  const stop = async () => {
    await there("down");
    await rm(folder, { recursive: true, force: true });
  };
  const token = (await skerry(platform.env, "host", "token")).trim();
  const flags = ["--control", platform.apiUrl, "--token", token, "--name", host.name, "--address", address];
  try {
    const said = await there("host", "join", ...flags);
    const id = /^hst_\w+$/m.exec(said)?.[0];
    if (id === undefined) throw new Error(`no host: ${said}`);
    return {
      ...host,
      ...{ id, address, stop, socket: join(folder, "run/host.sock") },
      pid: async () => (await processesOf(folder)).host,
      async kill() {
        const { supervisor, host: pid } = await processesOf(folder);
        // First who would start it again.
        for (const one of [supervisor, pid]) process.kill(one, "SIGKILL");
      },
      start: async () => void (await there("up")),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function processesOf(folder: string): Promise<{ supervisor: number; host: number }> {
  const text = await readFile(join(folder, "run/supervisor.json"), "utf8");
  const { supervisor, services } = JSON.parse(text) as {
    supervisor: { pid: number };
    services: { host?: { pid: number } };
  };
  if (services.host === undefined) throw new Error("the host does not run");
  return { supervisor: supervisor.pid, host: services.host.pid };
}
