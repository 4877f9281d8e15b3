// Writes the parts of the clients that follow from something else: the plain methods of the TypeScript and
// the Python client, from the declarations of the API's operations; Python's types, from the OpenAPI
// document; and its synchronous half, from the asynchronous one. They are committed. `--check` only says
// whether they are current.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { format, type FormatConfig } from "oxfmt";
import { cliCalls, cliFlags } from "./clients/cli-flags.ts";
import { boundCalls } from "./clients/python-bound.ts";
import { dashboardRequests } from "./clients/dashboard-requests.ts";
import { pythonFiles } from "./clients/python-methods.ts";
import { synchronous } from "./clients/python-sync.ts";
import { pythonTypes } from "./clients/python-types.ts";
import { sdkFiles } from "./clients/sdk-methods.ts";

const root = join(import.meta.dirname, "..");
const python = "packages/python/src/skerry";
/** Folders that hold nothing else. */
const folders = [
  "packages/cli/src/generated",
  "packages/dashboard/src/generated",
  "packages/sdk/src/generated",
  `${python}/_async/_generated`,
  `${python}/_sync`,
];

const written = await allFiles();
const extra = folders.flatMap(filesIn).filter((path) => !written.has(path));
if (process.argv.includes("--check")) {
  const stale = [...written].filter(([path, text]) => textOf(path) !== text).map(([path]) => path);
  const wrong = [...stale, ...extra];
  if (wrong.length > 0) {
    process.stderr.write(`${wrong.join(", ")}: not current: run node setup/write-clients.ts\n`);
    process.exitCode = 1;
  }
} else {
  for (const path of extra) rmSync(join(root, path));
  for (const [path, text] of written) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

/** Texts of all files, by their paths in the repository. */
async function allFiles(): Promise<ReadonlyMap<string, string>> {
  const document = readFileSync(join(root, "packages/control/openapi.json"), "utf8");
  const types = pythonTypes(JSON.parse(document) as Record<string, unknown>);
  const files = new Map([[`${python}/types.py`, types.text]]);
  const sdk = [...(await sdkFiles())].map(
    ([name, text]) => [`packages/sdk/src/generated/${name}`, text] as const,
  );
  const modules = new Map([
    ...sdk,
    ["packages/cli/src/generated/flags.ts", cliFlags()],
    ["packages/cli/src/generated/calls.ts", cliCalls()],
    ["packages/dashboard/src/generated/requests.ts", dashboardRequests()],
  ]);
  for (const [path, text] of await formatted(modules)) files.set(path, text);
  for (const [name, text] of pythonFiles(types)) files.set(`${python}/_async/_generated/${name}`, text);
  const vmCalls = readFileSync(join(root, python, "_async/_vm_calls.py"), "utf8");
  files.set(`${python}/_async/_generated/_bound_calls.py`, boundCalls(vmCalls));
  for (const path of filesIn(`${python}/_async`).filter((one) => !one.includes("/_generated/")))
    files.set(path.replace("_async", "_sync"), synchronous(path, textOf(path) ?? ""));
  for (const [path, text] of [...files].filter(([one]) => one.includes("/_async/")))
    files.set(path.replace("_async", "_sync"), synchronous(path, text));
  return files;
}

/** The files as the formatter has them. */
async function formatted(files: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, string>> {
  const options = JSON.parse(readFileSync(join(root, ".oxfmtrc.json"), "utf8")) as FormatConfig;
  const entries = [...files].map(async ([name, text]): Promise<[string, string]> => {
    const { code, errors } = await format(name, text, options);
    if (errors.length > 0) throw new Error(`${name}: ${JSON.stringify(errors[0])}`);
    return [name, code];
  });
  return new Map(await Promise.all(entries));
}

function filesIn(folder: string): string[] {
  return readdirOf(folder)
    .filter((name) => /\.(?:py|ts)$/.test(name))
    .map((name) => `${folder}/${name}`);
}

function readdirOf(folder: string): string[] {
  try {
    return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
