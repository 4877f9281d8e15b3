// How much a browser loads: what `npm run build` has made, compressed as control serves it.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const ASSETS = join(import.meta.dirname, "../../../dist/dashboard/assets");
const files = readdirSync(ASSETS).filter((file) => /\.(js|css)$/.test(file));
const named = (name: string, end = "js") => {
  const found = files.find((file) => new RegExp(`^${name}-[A-Z0-9]+\\.${end}$`).test(file));
  if (found === undefined) throw new Error(`the build has no ${name}`);
  return found;
};
const text = (file: string) => readFileSync(join(ASSETS, file), "utf8");
const gzipped = (loaded: Iterable<string>) =>
  [...loaded].reduce((sum, file) => sum + gzipSync(text(file), { level: 9 }).length, 0);

/** The file, and what it imports before it runs. */
function loadedBy(file: string, known = new Set<string>()): Set<string> {
  if (known.has(file)) return known;
  known.add(file);
  for (const [, imported = ""] of text(file).matchAll(/(?:import|from)"(?:\.|\/ui\/assets)\/([^"]+\.js)"/g))
    loadedBy(imported, known);
  return known;
}

/** What it imports when it is needed. */
function laterBy(loaded: Iterable<string>): readonly string[] {
  return [...loaded].flatMap((file) =>
    [...text(file).matchAll(/import\("(?:\.|\/ui\/assets)\/([^"]+\.js)"\)/g)].map(([, later = ""]) => later),
  );
}

const shell = loadedBy(named("main"));
const first = new Set([...shell, ...loadedBy(named("overview"))]);

test("the first page loads at most 80 kB of JavaScript and 12 kB of CSS", () => {
  expect(gzipped(first)).toBeLessThan(80_000);
  expect(gzipped([named("main", "css")])).toBeLessThan(12_000);
});

const pages = laterBy(shell);

test("each page is loaded when it is first shown", () => {
  expect(pages.length).toBeGreaterThan(15);
});

test.each(pages)("what %s adds to it is at most 15 kB", (page) => {
  const own = [...loadedBy(page)].filter((file) => !first.has(file));
  expect(gzipped(own)).toBeLessThan(15_000);
});

test("the terminal adds at most 100 kB, and each other part of a page 15 kB", () => {
  const seen = new Set([...first, ...pages.flatMap((page) => [...loadedBy(page)])]);
  const parts = [...new Set(laterBy(seen))].filter((part) => !seen.has(part));
  expect(parts.length).toBeGreaterThan(5);
  for (const part of parts) {
    const own = [...loadedBy(part)].filter((file) => !first.has(file));
    expect(gzipped(own), part).toBeLessThan(part.startsWith("terminal-") ? 100_000 : 15_000);
  }
});
