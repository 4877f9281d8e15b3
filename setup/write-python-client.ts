// Writes the parts of the Python client that are made of something else: its types, of the OpenAPI document, and its synchronous half, of the
// asynchronous one. They are committed. `--check` only says whether they are current.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { synchronous } from "./clients/python-sync.ts";
import { pythonTypes } from "./clients/python-types.ts";

const root = join(import.meta.dirname, "..");
const skerry = join(root, "packages/python/src/skerry");

const openapi = JSON.parse(readFileSync(join(root, "packages/control/openapi.json"), "utf8")) as Record<
  string,
  unknown
>;
const made = new Map<string, string>([["types.py", pythonTypes(openapi)]]);
for (const name of modulesOf("_async"))
  made.set(`_sync/${name}`, synchronous(name, readFileSync(join(skerry, "_async", name), "utf8")));

const extra = modulesOf("_sync").filter((name) => !made.has(`_sync/${name}`));
if (process.argv.includes("--check")) {
  const stale = [...made].filter(([name, text]) => textOf(name) !== text).map(([name]) => name);
  const wrong = [...stale, ...extra.map((name) => `_sync/${name}`)];
  if (wrong.length > 0) {
    process.stderr.write(
      `packages/python/src/skerry: ${wrong.join(", ")}: not current: run node setup/write-python-client.ts\n`,
    );
    process.exitCode = 1;
  }
} else {
  mkdirSync(join(skerry, "_sync"), { recursive: true });
  for (const name of extra) rmSync(join(skerry, "_sync", name));
  for (const [name, text] of made) writeFileSync(join(skerry, name), text);
}

function modulesOf(folder: string): string[] {
  try {
    return readdirSync(join(skerry, folder)).filter((name) => name.endsWith(".py"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function textOf(name: string): string | undefined {
  try {
    return readFileSync(join(skerry, name), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
