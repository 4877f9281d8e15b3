// The contract's modules as declarations without schemas: of each schema that they export, its type stays.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { comment, typeWithoutName, type Schema, type SchemaNames } from "./schema-types.ts";

const contract = join(import.meta.dirname, "../../packages/contract/src");

export interface Module {
  /** Relative to the contract's `src`, without an extension. */
  readonly path: string;
  readonly schemas: ReadonlyMap<string, Schema>;
}

/** Rewrites the modules below this folder, which the compiler has written, in place. Those that do not know schemas stay as they are. */
export async function withoutSchemas(declarations: string): Promise<void> {
  const modules: Module[] = [];
  for (const file of readdirSync(declarations, { recursive: true, encoding: "utf8" }).toSorted()) {
    const usesSchemas =
      file.endsWith(".d.ts") && readFileSync(join(declarations, file), "utf8").includes('"typebox"');
    if (usesSchemas) modules.push(await readModule(file.slice(0, -".d.ts".length)));
  }
  for (const module of modules)
    writeFileSync(join(declarations, `${module.path}.d.ts`), declarationsOf(module, modules));
}

/** All modules of the contract that have schemas. */
export async function readModules(): Promise<readonly Module[]> {
  const files = readdirSync(contract, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  const modules = await Promise.all(files.toSorted().map((file) => readModule(file.slice(0, -".ts".length))));
  return modules.filter(({ schemas }) => schemas.size > 0);
}

async function readModule(path: string): Promise<Module> {
  const exported = (await import(pathToFileURL(join(contract, `${path}.ts`)).href)) as Readonly<
    Record<string, unknown>
  >;
  const schemas = Object.entries(exported).filter((entry): entry is [string, Schema] => isSchema(entry[1]));
  return { path, schemas: new Map(schemas) };
}

function isSchema(value: unknown): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    ("type" in value || "anyOf" in value)
  );
}

function declarationsOf(module: Module, modules: readonly Module[]): string {
  const imports = new Map<string, string>();
  const use = (name: string, path: string): string => {
    if (path !== module.path) imports.set(name, `./${relative(dirname(module.path), path)}.ts`);
    return name;
  };
  const names: SchemaNames = {
    find: (id) => {
      const found = findById(modules, id);
      return found === undefined ? undefined : use(found.name, found.path);
    },
    duration: () => use("Duration", "durations"),
    size: () => use("SizeName", "sizes"),
  };
  const types = [...module.schemas].map(
    ([name, schema]) =>
      `${comment(schema.description)}export type ${name} = ${typeWithoutName(schema, names)};\n`,
  );
  const head = [...imports].map(([name, from]) => `import type { ${name} } from "${from}";\n`);
  return [...head, ...types].join("") || "export {};\n";
}

/** The export that has the schema of this id. */
export function findById(
  modules: readonly Module[],
  id: string,
): { readonly name: string; readonly path: string } | undefined {
  for (const { path, schemas } of modules)
    for (const [name, { $id }] of schemas) if ($id === id) return { name, path };
  return undefined;
}
