import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nearestTests, testsInAreas, testsOf } from "./test-areas.ts";

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

test("tests that import what has changed, or are called like it or its folder, are the nearest", () => {
  const tests = new Map([
    ["packages/contract/tests/cidrs.test.ts", 'import { covers } from "@skerry/contract/cidrs";'],
    ["packages/guest/tests/files.test.ts", 'call("GET", "/v1/cidrs"); call("/v1/slots")'],
    ["packages/host/tests/rules.test.ts", 'import { rules } from "../src/network/policy-rules.ts";'],
    ["packages/host/tests/other.test.ts", 'import { other } from "../src/network/rules.ts";'],
  ]);
  tests
    .set("packages/control/tests/sandbox-reaper.test.ts", "")
    .set("packages/host/tests/sandbox-jail.test.ts", "");
  const nearest = (file: string) => nearestTests([file], tests);
  expect(nearest("packages/contract/src/cidrs.ts")).toEqual(["packages/contract/tests/cidrs.test.ts"]);
  expect(nearest("packages/guest/src/files.c")).toEqual(["packages/guest/tests/files.test.ts"]);
  expect(nearest("packages/host/src/network/policy-rules.ts")).toEqual(["packages/host/tests/rules.test.ts"]);
  expect(nearest("packages/host/src/network/slots.ts")).toEqual([]);
  expect(nearest("packages/control/src/sandboxes/sandbox-store.ts")).toEqual([
    "packages/control/tests/sandbox-reaper.test.ts",
  ]);
});
