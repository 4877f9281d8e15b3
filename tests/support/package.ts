// The package as `npm run package` makes it, unpacked in an empty folder.

import { execFile } from "node:child_process";
import { chmod, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);
const root = join(import.meta.dirname, "../..");

export interface Unpacked extends AsyncDisposable {
  /** The archive. */
  readonly archive: string;
  /** What is in it. */
  readonly tree: string;
  /** An empty folder beside it. */
  readonly scratch: string;
}

export async function unpackedPackage(): Promise<Unpacked> {
  const folder = await mkdtemp("/tmp/skerry-package-");
  await chmod(folder, 0o755);
  try {
    await execute(process.execPath, [join(root, "setup/package.ts"), "--out", folder], { timeout: 240_000 });
    const [archive = ""] = await readdir(folder);
    await execute("tar", ["-xzf", join(folder, archive), "-C", folder]);
    const scratch = await mkdtemp(join(folder, "scratch-"));
    // PostgreSQL and control, which are not root, find their programs there.
    await chmod(scratch, 0o755);
    return {
      ...{ archive: join(folder, archive), scratch },
      tree: join(folder, archive.replace(/\.tar\.gz$/, "")),
      [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
    };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

const BUILDS =
  /^(node|nodejs|npm|npx|corepack|make|gmake|cc|c89|c99|ld(\..*)?|as|.*gcc.*|.*g\+\+.*|clang.*|cpp.*)$/;

/** A PATH with all programs of the machine but those that build: as on one without a compiler and without npm. */
export async function pathWithoutBuildTools(folder: string): Promise<string> {
  for (const from of ["/usr/local/sbin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]) {
    for (const name of await readdir(from).catch(() => [] as string[])) {
      if (BUILDS.test(name)) continue;
      // The first one counts, as in a PATH.
      await symlink(join(from, name), join(folder, name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
      });
    }
  }
  return folder;
}
