// The floor: what QEMU itself takes. A bare script that starts the same command line as the host does, from the same frozen template,
// and speaks QMP and the agent's frames without anything of ours in between. It does less than the host must: namespaces and
// TAPs lie ready before the clock starts, nothing is filtered, nothing is remembered, and the clone gets no identity.

import { execFile } from "node:child_process";
import { chmod, chown, copyFile, mkdir, mkdtemp, readFile, readlink, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { isAlive, killProcess, type ProcessIdentity } from "../packages/host/src/vm/qemu/process.ts";
import { qemuProcesses } from "../tests/support/leftovers.ts";
import type { Platform } from "../tests/support/platform.ts";
import { run } from "../tests/support/run.ts";
import { FloorChannel } from "./floor-channel.ts";

const LAUNCHER = join(import.meta.dirname, "../dist/native/launch");
/** Below the user ids of every host. */
const FIRST_UID = 1_899_000_000;
const FILE_MIB = 8_192;
const LOG = "qemu.log";
const RETRY_MS = 1;
const DEADLINE_MS = 60_000;

/** How the host has started one. */
interface Model {
  readonly command: readonly string[];
  readonly env: Record<string, string>;
  /** /dev/kvm, of which each QEMU has a node of its own. */
  readonly device: string | undefined;
  /** What there is in its root. */
  readonly reads: readonly string[];
  readonly frozenFolder: string;
}

export interface FloorVm {
  readonly channel: FloorChannel;
  end(): Promise<void>;
}

export class Floor implements AsyncDisposable {
  readonly #model: Model;
  readonly #folder: string;
  readonly #namespaces: string[] = [];
  readonly #free: number[] = [];
  readonly #running = new Set<ProcessIdentity>();

  private constructor(model: Model, folder: string) {
    this.#model = model;
    this.#folder = folder;
  }

  /** Starts VMs exactly as this platform's host has started one that runs now. */
  static async like(platform: Platform): Promise<Floor> {
    const [qemu] = await qemuProcesses(platform.instance);
    if (qemu === undefined) throw new Error("the platform runs no VM that the floor could be like");
    const model = await readModel(qemu.pid);
    return new Floor(model, await mkdtemp("/tmp/skerry-floor-"));
  }

  /** Makes namespaces for so many VMs at once. */
  async prepare(count: number): Promise<void> {
    while (this.#namespaces.length < count) {
      const number = this.#namespaces.length;
      const name = `skfloor-${process.pid}-${number}`;
      this.#namespaces.push(name);
      this.#free.push(number);
      await run("ip", "netns", "add", name);
      await run("ip", "-n", name, "tuntap", "add", "tap0", "mode", "tap", "vnet_hdr");
      await run("ip", "-n", name, "link", "set", "tap0", "up");
    }
  }

  /** Resolves once the agent in the restored guest has answered. `saved`: the folder of a guest that the host has paused; without it the
   *  template's. */
  async restore(saved?: string): Promise<FloorVm> {
    const number = this.#free.pop();
    const netns = this.#namespaces[number ?? -1];
    if (number === undefined || netns === undefined)
      throw new Error("no namespace is prepared for another VM");
    const folder = join(this.#folder, String(number));
    const sockets: Socket[] = [];
    let qemu: ProcessIdentity | undefined;
    const end = async (): Promise<void> => {
      for (const socket of sockets) socket.destroy();
      if (qemu !== undefined) await this.#kill(qemu);
      await rm(folder, { recursive: true, force: true });
      this.#free.push(number);
    };
    try {
      qemu = await this.#launch(folder, { netns, uid: FIRST_UID + number, saved });
      const qmp = await dial(join(folder, "qmp.sock"), qemu);
      sockets.push(qmp);
      const agent = await dial(join(folder, "agent.sock"), qemu);
      sockets.push(agent);
      const channel = new FloorChannel(agent);
      await restored(qmp);
      qmp.write('{"execute": "cont"}\n');
      await channel.hello({ isInMiddle: saved !== undefined });
      return { channel, end };
    } catch (error) {
      await end();
      throw error;
    }
  }

  /** Also ends the QEMUs that still run. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running].map((qemu) => this.#kill(qemu)));
    for (const name of this.#namespaces) await run("ip", "netns", "del", name).catch(() => undefined);
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #launch(
    folder: string,
    {
      netns,
      uid,
      saved,
    }: { readonly netns: string; readonly uid: number; readonly saved: string | undefined },
  ): Promise<ProcessIdentity> {
    const { command, env, device, reads, frozenFolder } = this.#model;
    await mkdir(folder, { recursive: true, mode: 0o711 });
    const overlay = saved === undefined ? join(frozenFolder, "overlay") : join(saved, "disk.qcow2");
    await copyFile(overlay, join(folder, "disk.qcow2"));
    await chown(join(folder, "disk.qcow2"), uid, uid);
    await chmod(join(folder, "disk.qcow2"), 0o600); // the copy is as read-only as the original
    const confinement = ["--netns", `/run/netns/${netns}`, "--tap", "tap0", "--uid", String(uid)];
    const devices = device === undefined ? [] : ["--device", device];
    const sockets = ["--listen", "qmp.sock", "--listen", "agent.sock"];
    const state = ["--state", join(saved ?? frozenFolder, "state")];
    const pages = saved === undefined ? [] : ["--pages", join(saved, "memory")];
    const overMemory = saved === undefined ? {} : { SKERRY_MEMORY_PAGES: "4" };
    const variables = Object.entries({ ...env, ...overMemory }).flatMap(([name, value]) => [
      "--env",
      `${name}=${value}`,
    ]);
    const files = ["--file-mib", String(FILE_MIB), ...reads.flatMap((path) => ["--read", path])];
    const place = ["--folder", folder, "--log", LOG];
    const args = [
      ...place,
      ...state,
      ...pages,
      ...variables,
      ...confinement,
      ...devices,
      ...sockets,
      ...files,
    ];
    // The launcher says which process QEMU is, as soon as it has begun.
    const { stdout } = await promisify(execFile)(LAUNCHER, [...args, "--", ...command]);
    const [pid = 0, startTicks = 0] = stdout.trim().split(" ").map(Number);
    const qemu = { pid, startTicks };
    this.#running.add(qemu);
    return qemu;
  }

  async #kill(qemu: ProcessIdentity): Promise<void> {
    this.#running.delete(qemu);
    await killProcess(qemu);
  }
}

/** Each file and folder in the root of a QEMU is mounted there under its own path; its own folder is for it alone. */
async function mountedFor(pid: number): Promise<string[]> {
  const lines = (await readFile(`/proc/${pid}/mountinfo`, "utf8")).trim().split("\n");
  const paths = lines.map((line) => (line.split(" ")[4] ?? "").replaceAll("\\040", " "));
  return paths.filter((path) => !/^\/(dev(\/.*)?|tmp)?$|\/host\/vms\//.test(path));
}

async function readModel(pid: number): Promise<Model> {
  const words = (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0").slice(0, -1);
  const command = [await readlink(`/proc/${pid}/exe`), ...words.slice(1)];
  command[command.indexOf("-name") + 1] = "skerry-floor";
  const environment = (await readFile(`/proc/${pid}/environ`, "utf8")).split("\0").filter(Boolean);
  const memory = /mem-path=([^,]+)/.exec(words.join(" "))?.[1];
  if (memory === undefined) throw new Error("the platform's QEMU has no memory file");
  return {
    command,
    env: Object.fromEntries(
      environment.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
    ),
    device: command[command.indexOf("-accel") + 1]?.startsWith("kvm") === true ? "/dev/kvm" : undefined,
    reads: await mountedFor(pid),
    frozenFolder: dirname(memory),
  };
}

/** Everything in one write; QEMU works it off in turn and says when the state is there. */
async function restored(qmp: Socket): Promise<void> {
  const capabilities = ["x-ignore-shared", "events"].map((capability) => ({ capability, state: true }));
  const commands = [
    { execute: "qmp_capabilities" },
    { execute: "migrate-set-capabilities", arguments: { capabilities } },
    { execute: "migrate-incoming", arguments: { uri: "fd:3" } },
  ];
  qmp.write(commands.map((command) => `${JSON.stringify(command)}\n`).join(""));
  let heard = "";
  await new Promise<void>((resolve, reject) => {
    const fail = (): void => reject(new Error(`QEMU does not restore: ${heard.slice(-500)}`));
    qmp.once("close", fail).on("data", (bytes: Buffer) => {
      heard += bytes.toString("utf8");
      if (/"status": "failed"|"error":/.test(heard)) fail();
      if (heard.includes('"status": "completed"')) resolve();
    });
  });
}

/** Connects to a socket that QEMU is about to make. */
async function dial(path: string, qemu: ProcessIdentity): Promise<Socket> {
  const endMs = performance.now() + DEADLINE_MS;
  for (;;) {
    const socket = connect(path);
    const open = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    });
    if (open) return socket.on("error", () => undefined); // its close says enough
    if (!(await isAlive(qemu)) || performance.now() > endMs) {
      const log = await readFile(join(dirname(path), LOG), "utf8").catch(() => "it left no message");
      throw new Error(`QEMU did not come up: ${log}`);
    }
    await sleep(RETRY_MS);
  }
}
