// Whether limits hold here: by making a cgroup and setting them, because controllers that are listed may belong to another tree, or to
// a manager that does not give them away.

import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ok, warning, type Outcome } from "./outcome.ts";

/** By controller, a file of a cgroup and a limit for it that the kernel gives back as it was written. */
const LIMITS = {
  cpu: ["cpu.max", "50000 100000"],
  memory: ["memory.max", "67108864"],
  pids: ["pids.max", "16"],
} as const;
type Controller = keyof typeof LIMITS;
const controllers = Object.keys(LIMITS) as readonly Controller[];

export interface TriedLimits {
  readonly tree: string;
  readonly held: readonly Controller[];
  /** Why the others do not hold. */
  readonly refused: Readonly<Partial<Record<Controller, string>>>;
}

/** The tree of cgroup v2 in the text of /proc/self/mounts. */
export function cgroupTree(mounts: string): string | undefined {
  return mounts
    .split("\n")
    .find((line) => line.split(" ")[2] === "cgroup2")
    ?.split(" ")[1];
}

/** On this machine; undefined where it has no tree. */
export async function tryOwnLimits(): Promise<TriedLimits | undefined> {
  const tree = cgroupTree(await readFile("/proc/self/mounts", "utf8"));
  return tree === undefined ? undefined : tryLimits(tree);
}

/** Leaves the tree as it was. */
export async function tryLimits(tree: string): Promise<TriedLimits> {
  const listed = await wordsOf(join(tree, "cgroup.controllers"));
  const wasEnabled = await wordsOf(join(tree, "cgroup.subtree_control"));
  const folder = join(tree, `skerry-doctor-${process.pid}`);
  const held: Controller[] = [];
  const refused: Partial<Record<Controller, string>> = {};
  const enabled: Controller[] = [];
  try {
    await mkdir(folder);
    for (const controller of controllers) {
      const problem = listed.includes(controller)
        ? await tryLimit(tree, folder, { controller, isEnabled: wasEnabled.includes(controller) })
        : "not in this tree";
      if (problem === undefined) held.push(controller);
      else refused[controller] = problem;
      if (listed.includes(controller) && !wasEnabled.includes(controller)) enabled.push(controller);
    }
  } catch (error) {
    for (const controller of controllers) refused[controller] ??= codeOf(error);
  } finally {
    await rmdir(folder).catch(() => undefined);
    for (const controller of enabled)
      await writeFile(join(tree, "cgroup.subtree_control"), `-${controller}`).catch(() => undefined);
  }
  return { tree, held, refused };
}

async function tryLimit(
  tree: string,
  folder: string,
  { controller, isEnabled }: { readonly controller: Controller; readonly isEnabled: boolean },
): Promise<string | undefined> {
  const [file, limit] = LIMITS[controller];
  try {
    if (!isEnabled) await writeFile(join(tree, "cgroup.subtree_control"), `+${controller}`);
    // Not made where it is missing: the kernel makes it for a controller that the cgroup has.
    await writeFile(join(folder, file), limit, { flag: "r+" });
    const kept = (await readFile(join(folder, file), "utf8")).trim();
    return kept === limit ? undefined : `${file} reads ${kept}`;
  } catch (error) {
    return codeOf(error);
  }
}

export function limitsOutcome(tried: TriedLimits | undefined): Outcome {
  const remedy =
    "Boot with systemd.unified_cgroup_hierarchy=1, and outside of a container. Until then a VM can take more CPU and memory than its size.";
  if (tried === undefined) return warning("no cgroup v2 tree", remedy);
  const reasons = [...new Set(Object.values(tried.refused))];
  const refused = reasons.map((reason) => {
    const names = Object.entries(tried.refused).flatMap(([name, why]) => (why === reason ? [name] : []));
    return `${names.join(", ")} (${reason})`;
  });
  if (refused.length === 0) return ok(`v2 at ${tried.tree}: limits of ${tried.held.join(", ")} hold`);
  return warning(`v2 at ${tried.tree}: no limits of ${refused.join(", ")}`, remedy);
}

async function wordsOf(file: string): Promise<readonly string[]> {
  return (await readFile(file, "utf8").catch(() => "")).trim().split(/\s+/);
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
