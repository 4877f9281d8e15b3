import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testsInAreas, testsOf } from "./test-areas.ts";

const FULL_ONLY = ["code-interpreter", "e2b-compatibility", "image-kill"];
const names = readdirSync(join(import.meta.dirname, "../tests"))
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => name.replace(".test.ts", ""));

test("each end-to-end test belongs to an area, and each area names tests that are there", () => {
  expect(names.filter((name) => !testsInAreas.has(name) && !FULL_ONLY.includes(name))).toEqual([]);
  expect([...testsInAreas].filter((name) => !names.includes(name))).toEqual([]);
});

test("a change is tried by the tests of what it touches", () => {
  expect(testsOf(["packages/control/src/e2b/network.ts"])).toEqual(["tests/e2b.test.ts"]);
  expect(testsOf(["packages/host/src/vm/engine/engine.ts"])).toContain("tests/kill.test.ts");
  expect(testsOf(["packages/cli/src/local/up.ts"])).toEqual(
    expect.arrayContaining(["tests/local.test.ts", "packages/cli/tests/"]),
  );
  expect(testsOf(["tests/shell.test.ts"])).toEqual(["tests/shell.test.ts"]);
  expect(testsOf(["LICENSE"])).toEqual([]);
});
