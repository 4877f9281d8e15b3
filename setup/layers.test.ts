// Imports point one way: between packages, and between the folders of a package.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const packages = join(import.meta.dirname, "../packages");

/** Which of our packages each may import. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  control: ["contract"],
  host: ["contract"],
  sdk: ["contract"],
  cli: ["sdk", "contract"],
};

/** Folders of the host, outermost first: each may import itself and those to its right, and all may import what lies in src/. */
const hostLayers = ["http", "move", "vm", "templates", "guest", "network"];
/** A template is made by running a VM, and a VM wakes from a template: these two know each other's nouns. */
const siblings = new Set(["vm -> templates", "templates -> vm", "guest -> vm"]);

function sources(name: string): { file: string; text: string }[] {
  const root = join(packages, name, "src");
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));
}

test.each(Object.keys(mayImport))("the package %s imports only what it may", (name) => {
  const wrong = sources(name).flatMap(({ file, text }) =>
    [...text.matchAll(/from "@skerry\/([a-z]+)/g)]
      .map(([, target]) => target ?? "")
      .filter((target) => !(mayImport[name] ?? []).includes(target))
      .map((target) => `${file} -> ${target}`),
  );
  expect(wrong).toEqual([]);
});

test("no package reaches into another one's folders", () => {
  const wrong = Object.keys(mayImport).flatMap((name) =>
    sources(name)
      .filter(({ text }) => /from "(\.\.\/)+packages\//.test(text))
      .map(({ file }) => `${name}/${file}`),
  );
  expect(wrong).toEqual([]);
});

test("the folders of the host import one way", () => {
  const wrong: string[] = [];
  for (const { file, text } of sources("host")) {
    const from = file.split("/")[0] ?? "";
    if (!hostLayers.includes(from)) continue;
    for (const [, target = ""] of text.matchAll(/from "\.\.\/([a-z]+)\//g)) {
      const backwards = hostLayers.indexOf(target) < hostLayers.indexOf(from);
      if (backwards && !siblings.has(`${from} -> ${target}`)) wrong.push(`${file} -> ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});
