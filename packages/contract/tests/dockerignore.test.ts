import { expect, test } from "vitest";
import { boundContext, CONTEXT_ENTRIES_MAX, CONTEXT_MAX_BYTES } from "../src/builds/plan/context-bounds.ts";
import { IGNORED_BY_DEFAULT, readIgnore } from "../src/builds/plan/dockerignore.ts";

test.each<[string, readonly string[], readonly string[]]>([
  ["a.txt", ["a.txt"], ["b/a.txt", "a.txt.old"]],
  ["/a.txt", ["a.txt"], ["b/a.txt"]],
  ["folder", ["folder/a", "folder/b/c"], ["folders/a", "b/folder/a"]],
  ["folder/", ["folder/a"], []],
  ["./folder/../other", ["other/a"], ["folder/a"]],
  ["*.log", ["a.log", ".log"], ["b/a.log", "a.logs"]],
  ["*/*.log", ["b/a.log"], ["a.log", "c/b/a.log"]],
  ["**/*.log", ["a.log", "b/a.log", "c/b/a.log"], ["a.txt"]],
  ["**", ["a", "b/c"], []],
  ["a/**/b", ["a/b", "a/x/b", "a/x/y/b/c"], ["a/x", "b"]],
  ["a?c", ["abc"], ["ac", "abbc", "a/c"]],
  ["*a*b*", ["xaxbx", "ab"], ["ba"]],
  ["# a\n\n  b  ", ["b"], ["# a", "a"]],
  ["*.md\n!README.md", ["a.md"], ["README.md"]],
  ["docs\n!docs/keep\ndocs/keep/not", ["docs/a", "docs/keep/not"], ["docs/keep/a"]],
  ["a.b", [], ["axb"]],
  [IGNORED_BY_DEFAULT, [".git/config", "web/node_modules/a/b.js", "__pycache__/a"], [".github/a", "src/git"]],
])("the patterns %j leave out what they match", (text, ignored, kept) => {
  const ignore = readIgnore(text);
  expect(ignored.filter((path) => !ignore.isIgnored(path))).toEqual([]);
  expect(kept.filter((path) => ignore.isIgnored(path))).toEqual([]);
});

test("a folder is not read where all in it is left out, unless something may be taken back", () => {
  expect(readIgnore("a").isIgnoredWhole("a")).toBe(true);
  expect(readIgnore("a/*.txt").isIgnoredWhole("a")).toBe(false);
  expect(readIgnore("a\n!a/b").isIgnoredWhole("a")).toBe(false);
});

test("no pattern takes long", () => {
  const path = `${"a".repeat(200)}/`.repeat(20);
  const ignore = readIgnore(`${"*a".repeat(400)}b\n${"**/*a/".repeat(100)}b`);
  expect(ignore.isIgnored(`${path}c`)).toBe(false);
  expect(() => readIgnore("a".repeat(1_001))).toThrow("has a pattern of more than 1000 characters");
  expect(() => readIgnore("a\n".repeat(2_001))).toThrow("has more than 2000 patterns");
});

test("a context is bounded in bytes, entries and the length of a path", () => {
  const most = { bytes: CONTEXT_MAX_BYTES, entries: CONTEXT_ENTRIES_MAX };
  boundContext(most, "a");
  expect(() => boundContext({ ...most, bytes: most.bytes + 1 }, "a")).toThrow(/more than \d+ bytes/);
  expect(() => boundContext({ ...most, entries: most.entries + 1 }, "a")).toThrow(/more than \d+ entries/);
  expect(() => boundContext(most, "ä".repeat(501))).toThrow(/a path of more than 1000 bytes/);
});
