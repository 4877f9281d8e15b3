// The tables of what is tried of E2B's clients, held against what the clients declare and against the committed page.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { interpreterDeclarations } from "../tests/e2b-compatibility/code-interpreter-operations.ts";
import { namedCommands } from "../tests/e2b-compatibility/command-line.ts";
import { providerDeclarations } from "../tests/e2b-compatibility/computesdk-operations.ts";
import { declaredMethods } from "../tests/e2b-compatibility/declared-methods.ts";
import {
  commandLineFamily,
  families,
  interpreterFamily,
  providerFamily,
  sdkDeclarations,
  sdkFamily,
  type Family,
} from "../tests/e2b-compatibility/families.ts";
import { verdictOf } from "../tests/e2b-compatibility/operation.ts";
import { committedSection } from "../tests/e2b-compatibility/page.ts";

test("each public method of the newest SDK is tried, or named with why it is not", async () => {
  const declared = await declaredMethods(sdkDeclarations);
  expect(declared.length).toBeGreaterThan(150);
  expect(named(sdkFamily)).toEqual(declared.toSorted());
});

test("each public method of the code interpreter and of ComputeSDK's provider is, too", async () => {
  expect(named(interpreterFamily)).toEqual((await declaredMethods(interpreterDeclarations)).toSorted());
  const declared = await Promise.all(
    providerDeclarations.map(({ file, names }) => declaredMethods(file, names)),
  );
  expect(named(providerFamily)).toEqual(declared.flat().toSorted());
});

test("each command that the help of the command line names is, too", async () => {
  const home = await mkdtemp(join(tmpdir(), "skerry-e2b-"));
  try {
    expect(named(commandLineFamily)).toEqual((await namedCommands(home)).toSorted());
  } finally {
    await rm(home, { recursive: true });
  }
});

test("the page has a row for each operation and a column for each version", async () => {
  for (const family of families) {
    const section = await committedSection(family);
    const columns = `\\| operation +\\| ${family.versions.map((version) => `${version.replaceAll(".", "\\.")} +`).join("\\| ")}\\|`;
    expect(section).toMatch(new RegExp(columns));
    const rows = [...section.matchAll(/^\| (.*?) +\| (?:works|refused|fails|not in this version)/gm)].map(
      ([, name]) => name,
    );
    const areas = new Set(family.operations.map(({ area }) => area));
    const names = [...areas].flatMap((area) =>
      family.operations.filter((operation) => operation.area === area).map(({ name }) => name),
    );
    expect(rows).toEqual(names);
    for (const name of Object.keys(family.notTried)) expect(section).toContain(`\`${name}\``);
  }
});

test("a cell says what was refused and what failed in words that each run repeats", () => {
  const id = "sbx_01kb6xw7tqf0";
  expect(verdictOf(new Error(`501: volumes are not there for ${id}`))).toBe(
    "refused: 501 volumes are not there for sbx_…",
  );
  expect(verdictOf(new Error("\n\u001B[31mboom\u001B[39m | more\nat line 1"))).toBe("fails: boom \\| more");
  expect(verdictOf(new Error("x".repeat(500)))).toHaveLength(160);
});

function named<Context>({ operations, notTried }: Family<Context>): readonly string[] {
  return [...operations.flatMap(({ covers }) => covers), ...Object.keys(notTried)].toSorted();
}
