// One cgroup (v2) per VM: its own tree of processes, and limits where the kernel gives us the controllers.
// Machines with v1 controllers mounted have a v2 tree without any: then a VM has its own cgroup, but no
// limits.

import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Size } from "@skerry/contract/sizes";

const CONTROLLERS = ["cpu", "memory", "pids"] as const;
/** Used where the kernel has it. */
const DISK_CONTROLLER = "io";
/** QEMU itself and its translated code, on top of the guest's memory. */
const QEMU_OVERHEAD_MIB = 192;
/** Page tables of the guest's memory, QEMU's and the processor's: 2 MiB of each for a GiB (4 KiB pages, 8 bytes a page), and as much
 *  again for a guest that runs guests. */
const MEMORY_PER_PAGE_TABLES = 128;
/** QEMU's own threads, for disk and network, beside the guest's CPUs. */
const CPU_FOR_QEMU = 0.25;
/** The thread that sends a guest's memory, so that it does not take from the guest what it needs for its own work. */
const CPU_FOR_MOVE = 1;
const QEMU_MAX_TASKS = 128;
const CPU_PERIOD_US = 100_000;
/** What one CPU of a shared size may read and write of the disk, each; a performance size has twice as much. A guest that takes all of it
 *  leaves other guests, and PostgreSQL, their share of an SSD. */
const DISK_BYTES_PER_SECOND = 128 * 1024 * 1024;
const DISK_OPERATIONS_PER_SECOND = 4_000;
const BUSY_ATTEMPTS = 50;
const BUSY_PAUSE_MS = 20;

/** A VM that leaves sends its memory to another host while it runs. */
export type CgroupUse = "runs" | "leaves";

export interface Cgroups {
  /** One sentence for people: which limits hold, or why none do. */
  readonly description: string;
  /** Makes the VM's cgroup and returns its folder; undefined where this machine has no usable cgroup. */
  create(name: string, size: Size): Promise<string | undefined>;
  /** Changes how much CPU a VM may use that runs. Does nothing where there are no limits, or no such VM. */
  limit(name: string, size: Size, use: CgroupUse): Promise<void>;
  remove(name: string): Promise<void>;
  /** Removes our branch of the tree, unless a VM is left in it. */
  close(): Promise<void>;
}

const none = (description: string): Cgroups => ({
  description,
  create: () => Promise.resolve(undefined),
  limit: () => Promise.resolve(),
  remove: () => Promise.resolve(),
  close: () => Promise.resolve(),
});

/** Looks for a v2 tree and prepares our own branch of it, for example `skerry-1a2b3c`, or one that was delegated, `system.slice/skerry-vms.service/skerry-1a2b3c`. `disk` is the number of the disk that
 *  VMs use. */
export async function openCgroups(branch: string, disk?: string): Promise<Cgroups> {
  const mounts = await readFile("/proc/self/mounts", "utf8");
  const tree = mounts
    .split("\n")
    .find((line) => line.split(" ")[2] === "cgroup2")
    ?.split(" ")[1];
  if (tree === undefined) return none("none: no cgroup v2 tree is mounted");
  const root = join(tree, branch);
  try {
    await mkdir(root, { recursive: true });
  } catch (error) {
    return none(
      `none: cannot make a cgroup in ${tree} (${(error as NodeJS.ErrnoException).code ?? "failed"})`,
    );
  }
  const controllers = await enableDownTo(tree, branch, CONTROLLERS);
  const limitsDisk =
    controllers && disk !== undefined && (await enableDownTo(tree, branch, [DISK_CONTROLLER]));
  return {
    description: controllers
      ? [...CONTROLLERS, ...(limitsDisk ? [DISK_CONTROLLER] : [])].join(", ")
      : "none: the cgroup v2 tree has no cpu, memory and pids controllers",
    async create(name, size) {
      const folder = join(root, name);
      await mkdir(folder, { recursive: true });
      if (controllers) await setLimits(folder, cgroupLimits(size, limitsDisk ? disk : undefined));
      return folder;
    },
    async limit(name, size, use) {
      if (!controllers) return;
      await writeFile(join(root, name, "cpu.max"), cpuMax(size, use)).catch(
        (error: NodeJS.ErrnoException) => {
          if (error.code !== "ENOENT") throw error;
        },
      );
    },
    async remove(name) {
      const folder = join(root, name);
      // A QEMU that a guest has broken into can stop what runs beside it under its user, and nothing else
      // would end that.
      await writeFile(join(folder, "cgroup.kill"), "1").catch(() => undefined);
      await removeEmpty(folder);
    },
    close: () => rmdir(root).catch(() => undefined),
  };
}

/** The kernel counts a process as inside for a moment after it has ended. */
async function removeEmpty(folder: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await rmdir(folder);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return;
      if (code !== "EBUSY" || attempt === BUSY_ATTEMPTS) throw error;
      await sleep(BUSY_PAUSE_MS);
    }
  }
}

/** In the tree's root, in the branch, and in all between. */
async function enableDownTo(tree: string, branch: string, controllers: readonly string[]): Promise<boolean> {
  let folder = tree;
  if (!(await enableControllers(folder, controllers))) return false;
  for (const name of branch.split("/")) {
    folder = join(folder, name);
    if (!(await enableControllers(folder, controllers))) return false;
  }
  return true;
}

async function enableControllers(folder: string, controllers: readonly string[]): Promise<boolean> {
  const available = (await readFile(join(folder, "cgroup.controllers"), "utf8")).trim().split(" ");
  if (!controllers.every((controller) => available.includes(controller))) return false;
  return writeFile(
    join(folder, "cgroup.subtree_control"),
    controllers.map((name) => `+${name}`).join(" "),
  ).then(
    () => true,
    () => false,
  );
}

/** By file of the cgroup. */
export interface CgroupLimits {
  readonly always: Readonly<Record<string, string>>;
  /** In files that not every kernel has. */
  readonly whereOffered: Readonly<Record<string, string>>;
}

/** `disk` is the number of the disk whose use is limited, if any. */
export function cgroupLimits(size: Size, disk?: string): CgroupLimits {
  const memoryMib = size.memory_mib + QEMU_OVERHEAD_MIB + Math.ceil(size.memory_mib / MEMORY_PER_PAGE_TABLES);
  return {
    always: {
      "memory.max": String(memoryMib * 1024 * 1024),
      "pids.max": String(QEMU_MAX_TASKS),
      "cpu.max": cpuMax(size, "runs"),
      "cpu.weight": size.cpu === "shared" ? "100" : "1000",
    },
    whereOffered: {
      // What a guest holds is in memory, and not in a swap device that outlives the guest, unencrypted.
      "memory.swap.max": "0",
      ...(disk === undefined ? {} : { "io.max": `${disk} ${diskLimit(size)}` }),
    },
  };
}

export function cpuMax({ vcpus }: Size, use: CgroupUse): string {
  const cpus = vcpus + CPU_FOR_QEMU + (use === "leaves" ? CPU_FOR_MOVE : 0);
  return `${cpus * CPU_PERIOD_US} ${CPU_PERIOD_US}`;
}

function diskLimit({ vcpus, cpu }: Size): string {
  const shares = vcpus * (cpu === "shared" ? 1 : 2);
  const [bytes, operations] = [shares * DISK_BYTES_PER_SECOND, shares * DISK_OPERATIONS_PER_SECOND];
  return `rbps=${bytes} wbps=${bytes} riops=${operations} wiops=${operations}`;
}

async function setLimits(folder: string, { always, whereOffered }: CgroupLimits): Promise<void> {
  const set = (file: string, value: string): Promise<void> => writeFile(join(folder, file), value);
  await Promise.all([
    ...Object.entries(always).map(([file, value]) => set(file, value)),
    ...Object.entries(whereOffered).map(([file, value]) => set(file, value).catch(() => undefined)),
  ]);
}
