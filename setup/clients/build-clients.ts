// The clients as their users install them, and as a server hands them out: `@skerry/sdk` and `skerry` as npm packages without a dependency, and
// `skerry` as one file. The same checkout makes the same bytes. The wheel of the Python client comes into the same folder from its own build.

import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { build, type BuildOptions } from "esbuild";
import { licencesOfPackages } from "../licences.ts";
import { packSame } from "../same-archive.ts";
import { packedReadme } from "./packed-readme.ts";
import { rollUpTypes } from "./sdk-types.ts";

const root = join(import.meta.dirname, "../..");
const { version } = readJson("package.json") as { readonly version: string };
const common = { version, license: "Apache-2.0", engines: { node: ">=20" } } as const;

/** Files of the clients' folder, which `control` knows by these names too. */
const files = {
  sdk: `skerry-sdk-${version}.tgz`,
  cliPackage: `skerry-${version}.tgz`,
  cli: "skerry.cjs",
  installer: "install.sh",
} as const;

/** Writes them into the folder. A file is replaced whole or not at all. */
export async function buildClients(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  // Beside it, and so in the same file system, so that what is ready is moved.
  const stage = mkdtempSync(`${folder}.new-`);
  try {
    await buildSdk(stage);
    await buildCli(stage);
    cpSync(join(import.meta.dirname, "install.sh"), join(stage, files.installer));
    for (const file of Object.values(files)) renameSync(join(stage, file), join(folder, file));
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** One bundle for Node, which knows the saved settings, and one for everything else. */
async function buildSdk(stage: string): Promise<void> {
  const tree = join(stage, "sdk/package");
  const bundled = { format: "esm", target: "es2022" } as const;
  const entry = "packages/sdk/src/skerry.ts";
  const forNode = join(tree, "skerry.node.js");
  // The WebSocket for Node 20 is CommonJS, which requires what Node brings.
  const require = `import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);`;
  const inputs = await bundle(entry, {
    ...bundled,
    platform: "node",
    outfile: forNode,
    banner: { js: require },
  });
  appendLicences(forNode, inputs);
  await bundle(entry, { ...bundled, platform: "browser", outfile: join(tree, "skerry.js") });
  writeFileSync(join(tree, "skerry.d.ts"), await rollUpTypes());
  const { name, description } = readJson("packages/sdk/package.json") as Readonly<Record<string, string>>;
  writePackage(tree, {
    ...{ name, description, ...common },
    type: "module",
    sideEffects: false,
    // No `require` of its own: Node has let CommonJS require such a module since 20.19.
    exports: { ".": { types: "./skerry.d.ts", node: "./skerry.node.js", default: "./skerry.js" } },
    types: "./skerry.d.ts",
  });
  writeFileSync(join(tree, "README.md"), packedReadme(join(root, "packages/sdk/README.md")));
  packSame(join(stage, "sdk"), "package", join(stage, files.sdk));
}

async function buildCli(stage: string): Promise<void> {
  const tree = join(stage, "cli/package");
  const program = join(tree, files.cli);
  // CommonJS: a file without an extension, as commands are, is read as that by every Node.
  const inputs = await bundle("packages/cli/src/client-main.ts", {
    ...{ format: "cjs", platform: "node", target: "node20", outfile: program },
    // A program of the shell that starts Node with `--`, behind which Node takes no option, such as
    // --env-file, for its own. To JavaScript the line is a string and a comment. `env -S` would be shorter,
    // and busybox has none.
    banner: { js: `#!/bin/sh\n":" //; exec node -- "$0" "$@"\n// skerry ${version}, the client` },
  });
  appendLicences(program, inputs);
  chmodSync(program, 0o755);
  cpSync(program, join(stage, files.cli));
  const description = "The command line of Skerry: sandboxes and machines in microVMs, on a server of yours.";
  writePackage(tree, { name: "skerry", description, ...common, bin: { skerry: files.cli } });
  packSame(join(stage, "cli"), "package", join(stage, files.cliPackage));
}

/** Those of the packages that were bundled into the program. */
function appendLicences(program: string, inputs: readonly string[]): void {
  const licences = licencesOfPackages(root, inputs).replaceAll("*/", "*\\/");
  writeFileSync(program, `${readFileSync(program, "utf8")}\n/*\n${licences}*/\n`);
}

function writePackage(tree: string, content: object): void {
  writeFileSync(join(tree, "package.json"), `${JSON.stringify(content, undefined, 2)}\n`);
  cpSync(join(root, "LICENSE"), join(tree, "LICENSE"));
}

/** Returns the files that went into it, relative to the checkout. */
async function bundle(entry: string, options: BuildOptions): Promise<readonly string[]> {
  const { metafile } = await build({
    ...{ absWorkingDir: root, entryPoints: [entry], bundle: true, metafile: true, logLevel: "warning" },
    ...options,
  });
  return Object.keys(metafile?.inputs ?? {});
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(root, path), "utf8"));
}
