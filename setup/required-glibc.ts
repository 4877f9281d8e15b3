// The newest glibc that the dynamic native pieces ask for: they are built on one distribution and run on others.

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";

interface Required {
  /** "0" where all are static. */
  readonly version: string;
  readonly file: string;
}

export function requiredGlibc(folder: string): Required {
  const all = readdirSync(folder).flatMap((file) => {
    const { status, stdout } = spawnSync("objdump", ["-p", join(folder, file)], { encoding: "utf8" });
    if (status !== 0) throw new Error(`objdump cannot read ${file}`);
    return [...stdout.matchAll(/\bGLIBC_(\d+(?:\.\d+)*)/g)].map(([, version = "0"]) => ({ version, file }));
  });
  const newest = all.toSorted((a, b) => a.version.localeCompare(b.version, "en", { numeric: true })).at(-1);
  return newest ?? { version: "0", file: folder };
}
