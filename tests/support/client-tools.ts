// Programs that users of our clients have and the project has not: TypeScript 5.9, `openapi-typescript` and `openapi-fetch`. They are not in
// the project's own lock file, because they need another TypeScript than it does; they are installed into `.cache` by the first test that asks.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { access, copyFile, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const NEEDED = ["package.json", "package-lock.json", ".npmrc"];
const INSTALL_WITHIN_MS = 240_000;

export interface ClientTools {
  /** Its `node_modules` has the packages. */
  readonly folder: string;
  /** The path of a program, such as `tsc` (of TypeScript 5.9) or `openapi-typescript`. */
  program(name: string): string;
}

/**
 * Installs what `tests/client-tools/package-lock.json` names, unless it is there. Tests may ask at the same time: each installs beside the place, and
 * the first one that is done moves it there whole. An error says what npm said.
 */
export async function clientTools(
  cache = join(root, ".cache"),
  lock = join(root, "tests/client-tools"),
): Promise<ClientTools> {
  const digest = createHash("sha256")
    .update(await readFile(join(lock, "package-lock.json")))
    .digest("hex");
  const folder = join(cache, `client-tools-${digest.slice(0, 16)}`);
  if (!(await exists(folder))) await install(lock, cache, folder);
  return { folder, program: (name) => join(folder, "node_modules/.bin", name) };
}

async function install(lock: string, cache: string, folder: string): Promise<void> {
  await mkdir(cache, { recursive: true });
  const beside = await mkdtemp(join(cache, "client-tools-new-"));
  try {
    for (const name of NEEDED) await copyFile(join(lock, name), join(beside, name));
    await execute("npm", ["ci", "--ignore-scripts"], { cwd: beside, timeout: INSTALL_WITHIN_MS });
    await rename(beside, folder).catch(async (error: unknown) => {
      // Another test was faster, and a folder that is not empty is never replaced.
      if (!(await exists(folder))) throw error;
    });
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    throw new Error(
      `The tools of tests/client-tools could not be installed. Check npm's registry and the network, then try again. ${stderr}`,
      { cause: error },
    );
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
