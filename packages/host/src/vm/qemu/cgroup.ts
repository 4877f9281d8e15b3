// One cgroup (v2) per VM: its own tree of processes, and limits where the kernel gives us the controllers.
// Machines with v1 controllers mounted have a v2 tree without any: then a VM has its own cgroup, but no
// limits.

import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Size } from "@skerry/contract/sizes";

const CONTROLLERS = ["cpu", "memory", "pids"] as const;
/** QEMU itself, its translated code and its page tables, on top of the guest's memory. */
const QEMU_OVERHEAD_MIB = 192;
const QEMU_MAX_TASKS = 128;
const CPU_PERIOD_US = 100_000;
const BUSY_ATTEMPTS = 50;
const BUSY_PAUSE_MS = 20;

export interface Cgroups {
  /** One sentence for people: which limits hold, or why none do. */
  readonly description: string;
  /** Makes the VM's cgroup and returns its folder; undefined where this machine has no usable cgroup. */
  create(name: string, size: Size): Promise<string | undefined>;
  remove(name: string): Promise<void>;
}

const none = (description: string): Cgroups => ({
  description,
  create: () => Promise.resolve(undefined),
  remove: () => Promise.resolve(),
});

/** Looks for a v2 tree and prepares our own branch of it, for example `/sys/fs/cgroup/skerry-1a2b3c`. */
export async function openCgroups(branch: string): Promise<Cgroups> {
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
  const controllers = (await enableControllers(tree)) && (await enableControllers(root));
  return {
    description: controllers
      ? CONTROLLERS.join(", ")
      : "none: the cgroup v2 tree has no cpu, memory and pids controllers",
    async create(name, size) {
      const folder = join(root, name);
      await mkdir(folder, { recursive: true });
      if (controllers) await setLimits(folder, size);
      return folder;
    },
    async remove(name) {
      const folder = join(root, name);
      // A QEMU that a guest has broken into can stop what runs beside it under its user, and nothing else
      // would end that.
      await writeFile(join(folder, "cgroup.kill"), "1").catch(() => undefined);
      await removeEmpty(folder);
    },
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

async function enableControllers(folder: string): Promise<boolean> {
  const available = (await readFile(join(folder, "cgroup.controllers"), "utf8")).trim().split(" ");
  if (!CONTROLLERS.every((controller) => available.includes(controller))) return false;
  return writeFile(
    join(folder, "cgroup.subtree_control"),
    CONTROLLERS.map((name) => `+${name}`).join(" "),
  ).then(
    () => true,
    () => false,
  );
}

async function setLimits(folder: string, size: Size): Promise<void> {
  const memoryBytes = (size.memory_mib + QEMU_OVERHEAD_MIB) * 1024 * 1024;
  await Promise.all([
    writeFile(join(folder, "memory.max"), String(memoryBytes)),
    writeFile(join(folder, "pids.max"), String(QEMU_MAX_TASKS)),
    writeFile(join(folder, "cpu.max"), `${size.vcpus * CPU_PERIOD_US} ${CPU_PERIOD_US}`),
    writeFile(join(folder, "cpu.weight"), size.cpu === "shared" ? "100" : "1000"),
  ]);
}
