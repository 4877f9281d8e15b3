// The dashboard as control serves it: `index.html`, and everything else under a name with a hash, each beside its compressed forms.

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build, type BuildOptions, type Metafile, type Plugin } from "esbuild";

const root = join(import.meta.dirname, "..");
const source = "packages/dashboard/src";
/** Below this, compressing saves less than it costs. */
const COMPRESSED_MIN_BYTES = 1_024;

/** Writes `index.html` and `assets/`, whole or not at all. Returns the files that were bundled, relative to the checkout. */
export async function buildDashboard(folder: string): Promise<readonly string[]> {
  const stage = `${folder}.new`;
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(join(stage, "assets"), { recursive: true });
  const metafile = await bundle(join(stage, "assets"));
  writeFileSync(join(stage, "index.html"), page(metafile));
  compress(join(stage, "assets"));
  rmSync(folder, { recursive: true, force: true });
  renameSync(stage, folder);
  return Object.keys(metafile.inputs).filter((file) => !file.startsWith("openapi:"));
}

const common = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  platform: "browser",
  target: ["chrome131", "firefox135", "safari18.2"],
  logLevel: "warning",
} as const satisfies BuildOptions;

async function bundle(assets: string): Promise<Metafile> {
  const { metafile } = await build({
    ...common,
    entryPoints: [`${source}/main.tsx`],
    outdir: assets,
    splitting: true,
    format: "esm",
    jsx: "automatic",
    jsxImportSource: "preact",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    publicPath: "/ui/assets",
    loader: { ".woff2": "file" },
    plugins: [requestSchemas],
    metafile: true,
  });
  // One that is run before the first paint cannot import anything.
  const early = await build({
    ...common,
    entryPoints: [`${source}/theme-before-paint.ts`],
    outdir: assets,
    format: "iife",
    entryNames: "[name]-[hash]",
    metafile: true,
  });
  return { inputs: metafile.inputs, outputs: { ...metafile.outputs, ...early.metafile.outputs } };
}

/** `openapi:NAME` is the schema of one request: its fields, with their bounds, defaults and words, and nothing of the rest. */
const requestSchemas: Plugin = {
  name: "request-schemas",
  setup(build) {
    build.onResolve({ filter: /^openapi:/ }, ({ path }) => ({ path, namespace: "openapi" }));
    build.onLoad({ filter: /.*/, namespace: "openapi" }, ({ path }) => {
      const name = path.slice("openapi:".length);
      const document = JSON.parse(readFileSync(join(root, "packages/control/openapi.json"), "utf8")) as {
        readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
      };
      const schema = document.components.schemas[name];
      if (schema === undefined) return { errors: [{ text: `openapi.json has no schema ${name}` }] };
      return { contents: `export const schema = ${JSON.stringify(schema)};`, loader: "js" };
    });
  },
};

function page({ outputs }: Metafile): string {
  const named = (start: string, end: string) =>
    Object.keys(outputs)
      .map((file) => basename(file))
      .find((file) => file.startsWith(start) && file.endsWith(end));
  const asset = (start: string, end: string) => {
    const file = named(start, end);
    if (file === undefined) throw new Error(`the build has no ${start}*${end}`);
    return `/ui/assets/${file}`;
  };
  const icon = readFileSync(join(root, source, "icon.svg"), "utf8").trim();
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="dark light">
<meta name="description" content="The dashboard of Skerry.">
<title>Skerry</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}">
<script src="${asset("theme-before-paint-", ".js")}"></script>
<link rel="stylesheet" href="${asset("main-", ".css")}">
<link rel="preload" href="${asset("inter-latin-wght-normal-", ".woff2")}" as="font" type="font/woff2" crossorigin>
<script type="module" src="${asset("main-", ".js")}"></script>
</head>
<body><div id="app"></div><noscript>The dashboard needs JavaScript; the command line does not: <code>skerry help</code>.</noscript></body>
</html>
`;
}

function compress(folder: string): void {
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, name));
    if (bytes.length < COMPRESSED_MIN_BYTES || name.endsWith(".woff2")) continue;
    writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
    const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes, { params }));
  }
}
