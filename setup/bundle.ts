// Bundles programs: one file each, and chunks that they share, so that a process starts fast and needs nothing else on disk once it has
// dropped its privileges.

import { join } from "node:path";
import { build } from "esbuild";

const programs = {
  skerry: "packages/cli/src/main.ts",
  control: "packages/control/src/app/main.ts",
  host: "packages/host/src/main.ts",
};

export type Program = keyof typeof programs;

/** Writes `NAME.js` of each into the folder. Returns the files that went into them, relative to the checkout. */
export async function bundle(names: readonly Program[], folder: string): Promise<readonly string[]> {
  const { metafile } = await build({
    absWorkingDir: join(import.meta.dirname, ".."),
    entryPoints: names.map((name) => ({ in: programs[name], out: name })),
    outdir: folder,
    bundle: true,
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
    platform: "node",
    target: "node24",
    format: "esm",
    sourcemap: "linked",
    metafile: true,
    logLevel: "warning",
    external: ["pg-native"],
    // Some of the bundled packages are CommonJS and ask for `require`.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
  });
  return Object.keys(metafile.inputs);
}
