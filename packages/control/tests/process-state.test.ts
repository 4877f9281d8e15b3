// State that outlives a request belongs to the context: a module's own map or queue would be shared by two
// control planes in one process, as tests open them, where two processes share nothing.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { filesOf } from "../../../setup/import-floors.ts";

const src = join(import.meta.dirname, "../src");

/** Values, tables of constants, and what is kept by the database or the request that it belongs to. */
const HARMLESS = "RegExp|URL|Date|SkerryError|WeakMap|WeakSet|BatchLoader|(?:Set|Map)(?:<[^(]*>)?\\((?=[^)])";
const STATE = new RegExp(`^(?:export )?(?:let \\w|const \\w+[^=\\n]*= new (?!${HARMLESS}))`, "gm");

/** State of modules, and why it may be there. */
const known: Readonly<Record<string, string>> = {
  "db/prepared.ts": "names of statements, which follow from their texts",
  "http/upgrades.ts": "a parser of frames, which keeps no connection",
  "vms/ports/proxy.ts": "an agent that keeps no connection",
};

function stateIn(text: string): number {
  return [...text.matchAll(STATE)].length;
}

test("no module keeps state of its own", () => {
  const found = filesOf(src).filter(
    (file) => !file.startsWith("e2b/wire/") && stateIn(readFileSync(join(src, file), "utf8")) > 0,
  );
  expect(found.toSorted()).toEqual(Object.keys(known).toSorted());
});

test.each([
  "const known = new Map<string, string>();",
  "export const turns = new EncodingTurns();",
  "let last: string | undefined;",
])("%s is found", (line) => {
  expect(stateIn(`\n${line}\n`)).toBe(1);
});

test.each([
  'const words = new Set(["a"]);',
  "const budgetOf = stateOf(() => new Budget());",
  "  let count = 0;",
])("%s is none", (line) => {
  expect(stateIn(`\n${line}\n`)).toBe(0);
});
