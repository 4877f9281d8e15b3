// All types of the TypeScript client in one file that imports nothing: the compiler's declarations, without the contract's schemas, rolled up.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown, type Plugin } from "rolldown";
import { dts } from "rolldown-plugin-dts";
import { withoutSchemas } from "./contract-modules.ts";

const root = join(import.meta.dirname, "../..");

/** `await using` and `Symbol.asyncDispose` are in no standard library before ES2026. */
const HEAD = '/// <reference lib="esnext.disposable" />\n';

export async function rollUpTypes(): Promise<string> {
  // In the checkout, so that the compiler finds the types of Node.
  mkdirSync(join(root, "dist"), { recursive: true });
  const folder = mkdtempSync(join(root, "dist/types-"));
  try {
    declare(folder);
    await withoutSchemas(join(folder, "contract/src"));
    const bundle = await rolldown({
      input: { skerry: join(folder, "sdk/src/skerry.d.ts") },
      plugins: [ourModules(folder), dts({ dtsInput: true, generator: "oxc", tsconfig: false })],
      logLevel: "silent",
    });
    const { output } = await bundle.generate({ format: "es" });
    const [types, ...more] = output.flatMap((file) => (file.type === "chunk" ? [file] : []));
    if (types === undefined || more.length > 0 || types.imports.length > 0)
      throw new Error("the types of the client are not one file that imports nothing");
    return `${HEAD}${types.code}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the compiler says that each module exports. */
function declare(folder: string): void {
  const project = join(folder, "tsconfig.json");
  writeFileSync(
    project,
    JSON.stringify({
      extends: join(root, "tsconfig.json"),
      compilerOptions: {
        ...{ noEmit: false, declaration: true, emitDeclarationOnly: true },
        ...{ rootDir: join(root, "packages"), outDir: folder },
      },
      // By name: what is found as a package gets no declarations.
      include: ["contract", "build-plan"].map((name) => join(root, "packages", name, "src")),
      files: [join(root, "packages/sdk/src/skerry.ts")],
    }),
  );
  const compiler = join(root, "node_modules/.bin/tsc");
  const { status } = spawnSync(compiler, ["-p", project], { stdio: "inherit" });
  if (status !== 0) throw new Error("the types of the client could not be written");
}

/** The modules of the client, the contract and the planner are those that the compiler has written. */
function ourModules(folder: string): Plugin {
  return {
    name: "our-modules",
    resolveId: {
      order: "pre",
      handler(source, importer) {
        const [, name, path] = /^@skerry\/(contract|build-plan)\/(.*)$/.exec(source) ?? [];
        if (name !== undefined) return join(folder, name, "src", `${path}.d.ts`);
        const isOurs = /^\.\.?\/.*\.ts$/.test(source) && !source.endsWith(".d.ts") && importer !== undefined;
        return isOurs ? join(importer, "..", source.replace(/\.ts$/, ".d.ts")) : undefined;
      },
    },
  };
}
