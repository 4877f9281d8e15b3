// Builds everything that runs into dist/: one file per program, so that a process starts fast and needs nothing else on
// disk once it has dropped its privileges, and the native pieces beside them.

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

const programs = {
  skerry: "packages/cli/src/main.ts",
  control: "packages/control/src/app/main.ts",
  host: "packages/host/src/main.ts",
};

function make(folder: string, out: string): void {
  const result = spawnSync("make", ["--no-print-directory", "-C", join(root, folder), `OUT=${out}`], {
    stdio: "inherit",
  });
  if (result.status !== 0) throw new Error(`make in ${folder} failed`);
}

mkdirSync(join(dist, "native"), { recursive: true });
make("packages/host/native", join(dist, "native"));
make("packages/guest", join(dist, "native"));

await build({
  absWorkingDir: root,
  entryPoints: Object.entries(programs).map(([out, entry]) => ({ in: entry, out })),
  outdir: dist,
  bundle: true,
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  platform: "node",
  target: "node24",
  format: "esm",
  sourcemap: "linked",
  logLevel: "warning",
  external: ["pg-native"],
  // Some of the bundled packages are CommonJS and ask for `require`.
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
});
