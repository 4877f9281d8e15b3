import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** What each folder may import beside itself. `main` is every file that is in no folder. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  main: ["http", "background", "services", "metrics", "store", "hosts"],
  http: ["services", "metrics", "store", "hosts"],
  background: ["services", "metrics", "store", "hosts", "main"],
  services: ["metrics", "store", "hosts"],
  metrics: [],
  store: [],
  hosts: [],
};

/** The one thing of main that others may know: the type of the settings. */
const CONFIG = "../config.ts";

test("imports point one way, and other packages are reached through the contract only", () => {
  const root = new URL("../src/", import.meta.url);
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  expect(files.length).toBeGreaterThan(40);
  const wrong: string[] = [];
  for (const file of files) {
    const layer = file.includes("/") ? (file.split("/")[0] ?? "") : "main";
    for (const [, target = ""] of readFileSync(new URL(file, root), "utf8").matchAll(/from "([^"]+)"/g)) {
      if (!isAllowed(layer, target)) wrong.push(`${file} -> ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

function isAllowed(layer: string, target: string): boolean {
  if (target.startsWith("@skerry/")) return target.startsWith("@skerry/contract/");
  const [, folder] = /^\.\.?\/([a-z]+)\//.exec(target) ?? [];
  if (folder !== undefined && Object.hasOwn(allowed, folder)) {
    return folder === layer || (allowed[layer] ?? []).includes(folder);
  }
  return !target.startsWith("../") || (target === CONFIG && layer === "background");
}
