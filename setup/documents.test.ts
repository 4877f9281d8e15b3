// The documents lead somewhere: each link to a file or a heading of ours is there, and each page is in the index.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const README_LINES = 150;

const pages = readdirSync(join(root, "docs"))
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/${name}`);
const documents = [
  ...[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "packages/sdk/README.md",
    "packages/python/README.md",
    "docs/decisions/README.md",
  ],
  ...pages,
];

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

function withoutCode(text: string): string {
  return text.replaceAll(/^ *```.*?^ *```$/gms, "").replaceAll(/`[^`\n]*`/g, "");
}

/** The heading's anchor, as GitHub and GitLab make it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}

function anchorsOf(file: string): string[] {
  const text = read(file).replaceAll(/^ *```.*?^ *```$/gms, "");
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));
}

function deadLinks(file: string): string[] {
  const links = [...withoutCode(read(file)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? file : relative(root, join(root, dirname(file), path));
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && !anchorsOf(target).includes(anchor);
  });
}

test.each(documents)("the links of %s lead somewhere", (file) => {
  expect(deadLinks(file)).toEqual([]);
});

test("the index of the documentation names each page", () => {
  const index = read("docs/README.md");
  const missing = pages.filter(
    (page) => page !== "docs/README.md" && !index.includes(`(${relative("docs", page)})`),
  );
  expect(missing).toEqual([]);
});

test("the README is read in ten minutes", () => {
  expect(read("README.md").split("\n").length).toBeLessThanOrEqual(README_LINES);
});
