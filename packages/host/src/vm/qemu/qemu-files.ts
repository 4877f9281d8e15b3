// What a QEMU reads before it looks at its command line: its program, its libraries and modules, its firmware. Folders are taken whole, because
// libraries load others when they are needed.

import { readdir, stat } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { runProgram } from "../../system/run.ts";
import { FIRMWARE } from "./qemu-arguments.ts";

const DEADLINE_MS = 10_000;
/** Where the loader looks libraries up. */
const LOADER_CACHE = "/etc/ld.so.cache";

/** Of the QEMU at this path, which is no link: it looks for its own files beside it. */
export async function filesOfQemu(qemu: string): Promise<readonly string[]> {
  const prefix = dirname(dirname(qemu));
  const [loaded, dataFolders, modules] = await Promise.all([
    // The loader says what it would load, and does not start the program.
    runProgram(qemu, ["--version"], { deadlineMs: DEADLINE_MS, env: { LD_TRACE_LOADED_OBJECTS: "1" } }),
    runProgram(qemu, ["-L", "help"], { deadlineMs: DEADLINE_MS }),
    moduleFolders(prefix),
  ]);
  const firmware = await Promise.all(
    dataFolders
      .split("\n")
      .map(async (folder) =>
        folder !== "" && (await exists(join(folder, FIRMWARE))) ? [normalize(folder)] : [],
      ),
  );
  const { loader, folders } = loadedFrom(loaded);
  const cache = (await exists(LOADER_CACHE)) ? [LOADER_CACHE] : [];
  return outermost([qemu, ...loader, ...folders, ...modules, ...firmware.flat(), ...cache]);
}

/** From what the loader says: the loader itself, and the folders of libraries. */
export function loadedFrom(output: string): { loader: string[]; folders: string[] } {
  const libraries = [...output.matchAll(/ => (\/.*) \(0x/g)].map(([, path = ""]) => dirname(path));
  const loader = [...output.matchAll(/^\s*(\/.*) \(0x/gm)].map(([, path = ""]) => path);
  return { loader, folders: [...new Set(libraries)] };
}

/** Without what lies in another of them. */
export function outermost(paths: readonly string[]): string[] {
  return [...new Set(paths)].filter(
    (path) => !paths.some((other) => other !== path && path.startsWith(`${other}/`)),
  );
}

/** Where packages put QEMU's modules: `lib/qemu`, `lib64/qemu`, `lib/x86_64-linux-gnu/qemu`. */
async function moduleFolders(prefix: string): Promise<string[]> {
  const libraries = [join(prefix, "lib"), join(prefix, "lib64")];
  const inner = await readdir(join(prefix, "lib"), { withFileTypes: true }).catch(() => []);
  for (const entry of inner) if (entry.isDirectory()) libraries.push(join(prefix, "lib", entry.name));
  const found = await Promise.all(
    libraries.map(async (folder) => {
      const files = await readdir(join(folder, "qemu")).catch(() => [] as string[]);
      return files.some((file) => file.endsWith(".so")) ? [join(folder, "qemu")] : [];
    }),
  );
  return found.flat();
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
