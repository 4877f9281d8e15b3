// Kernel, disks and frozen templates of the installation for the doctor's own host, which fetches and builds them anew where it has none.

import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../system/run.ts";

const COPY_DEADLINE_MS = 300_000;

interface Assets {
  readonly name: string;
  /** What they are called in the copy. */
  readonly as: string;
  readonly isFinished: (file: string) => boolean;
}

const ASSETS: readonly Assets[] = [
  { name: "kernel", as: "kernel", isFinished: () => true },
  // What is being built is a folder, in which this machine's /proc and /dev are mounted for that time: a copy of those has no end, and keeps
  // them from being unmounted.
  { name: "images", as: "images", isFinished: (file) => file.endsWith(".ext4") },
  { name: "frozen", as: "kept", isFinished: () => true },
];

/** Linked where that can be, and otherwise copied. */
export async function takeAssets(assets: string, folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o711 });
  for (const { name, as, isFinished } of ASSETS) {
    const [from, to] = [join(assets, name), join(folder, as)];
    const files = (await readdir(from).catch(() => [] as string[])).filter(isFinished);
    const copy = async (...how: readonly string[]): Promise<boolean> => {
      await rm(to, { recursive: true, force: true });
      await mkdir(to);
      const args = ["-a", ...how, ...files.map((file) => join(from, file)), to];
      return (await run("cp", args, { deadlineMs: COPY_DEADLINE_MS })).code === 0;
    };
    if (files.length > 0 && !(await copy("--link"))) await copy("--sparse=always", "--reflink=auto");
  }
}
