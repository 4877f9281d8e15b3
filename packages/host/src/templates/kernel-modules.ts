// The folder of a kernel's modules, `lib/modules/VERSION`: cut from its package to what guests have, and laid
// out in the initramfs. The agent loads the boot modules and then forgets their files. It shows the rest to
// programs at the usual place, where the guest's kernel finds what it needs (guest/src/modules.c).

import { copyFile, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { runProgram } from "../system/run.ts";
import { BOOT_MODULES, ON_DEMAND_MODULES } from "./guest-modules.ts";

const DEPMOD_DEADLINE_MS = 60_000;

/** Files of the package that `depmod` reads. */
const LISTS = ["modules.order", "modules.builtin", "modules.builtin.modinfo"];
/** Files that `depmod` reads, and what only a module that is built by hand asks for. */
const UNUSED_IN_GUESTS = new Set([...LISTS, "modules.symbols", "modules.symbols.bin"]);

export function modulesFolder(root: string, version: string): string {
  return join(root, "lib/modules", version);
}

/**
 * Paths in the folder of modules that must be there, so that guests have all that this version gives them.
 */
export const NEEDED_FILES: readonly string[] = [
  "modules.dep",
  ...[...BOOT_MODULES, ...ON_DEMAND_MODULES].map(fileOf),
];

/** Copies what guests have from the unpacked package `image` to below `root`, with what it needs in turn. */
export async function keepModules(
  image: string,
  root: string,
  { version, contain }: { readonly version: string; readonly contain: string },
): Promise<void> {
  const depmod = (below: string): Promise<string> =>
    runProgram("depmod", ["-b", below, version], { deadlineMs: DEPMOD_DEADLINE_MS, contain });
  const [from, to] = [modulesFolder(image, version), modulesFolder(root, version)];
  await depmod(image);
  const needs = parseDependencies(await readFile(join(from, "modules.dep"), "utf8"));
  const wanted = [...BOOT_MODULES, ...ON_DEMAND_MODULES].map(fileOf);
  for (const file of new Set(wanted.flatMap((each) => [each, ...(needs.get(each) ?? [])]))) {
    await mkdir(dirname(join(to, file)), { recursive: true });
    await copyFile(join(from, file), join(to, file));
  }
  for (const list of LISTS) await copyFile(join(from, list), join(to, list));
  await depmod(root);
}

/** Lines of `modules.dep`: a file, a colon, and all files that it needs, also those that these need. */
function parseDependencies(text: string): Map<string, string[]> {
  const lines = text.split("\n").map((line) => line.split(":"));
  return new Map(
    lines.map(([file = "", needed = ""]) => [file, needed.split(" ").filter((name) => name !== "")]),
  );
}

/** Lays a folder of modules out in `target`, the initramfs's `/modules`. */
export async function packModules(folder: string, target: string): Promise<void> {
  const boot = new Set(BOOT_MODULES.map((module) => join(folder, fileOf(module))));
  await mkdir(target);
  for (const file of boot) await copyFile(file, join(target, basename(file)));
  await writeFile(join(target, "order"), [...boot].map((file) => `${basename(file)}\n`).join(""));
  await cp(folder, join(target, "on-demand"), {
    recursive: true,
    filter: (file) => !boot.has(file) && !UNUSED_IN_GUESTS.has(basename(file)),
  });
}

function fileOf(module: string): string {
  return `kernel/${module}.ko`;
}
