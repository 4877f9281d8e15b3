// The package's README names every method of a sandbox and of machines: what sets a product apart is of use
// only where it is found.

import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { Machines } from "../src/machines/machines.ts";
import { Sandbox } from "../src/sandboxes/sandbox.ts";
import { Sandboxes } from "../src/sandboxes/sandboxes.ts";

/** Public methods and getters, those that are inherited included. */
function namesOf(prototype: object): string[] {
  const names = new Set<string>();
  for (let one = prototype; one !== Object.prototype; one = Object.getPrototypeOf(one) as object)
    for (const name of Object.getOwnPropertyNames(one)) names.add(name);
  for (const name of ["constructor", "toJSON"]) names.delete(name);
  return [...names];
}

test("a sandbox has each method that its table in the README names", async () => {
  const text = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const [, table = ""] = /\| method +\| gives +\|\n(.*?)\n\n/s.exec(text) ?? [];
  const cells = table.split("\n").map((row) => row.split(/(?<!\\)\|/)[1] ?? "");
  const named = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)\(/g)].map(([, name]) => name ?? ""));
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !(name in Sandbox.prototype))).toEqual([]);
});

test.each([Sandbox, Sandboxes, Machines])("the README names each method of %o", async ({ prototype }) => {
  const text = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const names = namesOf(prototype);
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name) => !new RegExp(String.raw`\b${name}\b`).test(text))).toEqual([]);
});
