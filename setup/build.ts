// Builds everything that runs into dist/: the programs, and the native pieces beside them.

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { bundle } from "./bundle.ts";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

function make(folder: string, out: string): void {
  const result = spawnSync("make", ["--no-print-directory", "-C", join(root, folder), `OUT=${out}`], {
    stdio: "inherit",
  });
  if (result.status !== 0) throw new Error(`make in ${folder} failed`);
}

mkdirSync(join(dist, "native"), { recursive: true });
make("packages/host/native", join(dist, "native"));
make("packages/guest", join(dist, "native"));
await bundle(["skerry", "control", "host"], dist);
