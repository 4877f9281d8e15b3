import { expect, test } from "vitest";
import { boundContext, CONTEXT_ENTRIES_MAX, CONTEXT_MAX_BYTES } from "@skerry/contract/builds/context-bounds";
import { IGNORED_BY_DEFAULT, readIgnore } from "../src/context/dockerignore.ts";

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
  // A comment begins its line, and a mark of the text's order is none of it.
  [" # a", ["# a"], ["a"]],
  ["\uFEFFa\r\nb\r\n", ["a", "b"], ["a\r", "\uFEFFa"]],
  ["\uFEFF# a\nb\t\n", ["b"], ["# a"]],
  ["*.[kp]em", ["a.pem", "b.kem"], ["a.rem", "a.em", "c/a.pem"]],
  ["*.py[cod]", ["m.pyc", "m.pyd"], ["m.py", "m.py[cod]"]],
  ["**/*.py[!x]", ["m.py!", "a/m.pyx"], ["m.pyc"]],
  ["[a-c]x[0-9]", ["ax0", "cx9"], ["dx0", "axa", "Ax0"]],
  ["[^a-c]x", ["dx", "éx", "-x"], ["ax", "cx", "x"]],
  ["[\\]\\-]a", ["]a", "-a"], ["a", "\\a"]],
  ["[a\\-c]", ["a", "-", "c"], ["b"]],
  ["[*?.]a", ["*a", "?a", ".a"], ["ba"]],
  ["\\*.txt", ["*.txt"], ["a.txt"]],
  ["keep\\[1].txt", ["keep[1].txt"], ["keep1.txt"]],
  ["\\!important", ["!important"], ["important"]],
  ["\\# a", ["# a"], ["a"]],
  ["\\a", ["a"], ["\\a"]],
  ["a b", ["a b"], ["a", "b"]],
  ["*\n!/a.txt\n! b.txt", ["c.txt", "d/a.txt"], ["a.txt", "b.txt"]],
  ["../a", [], ["a"]],
  ["/../a", ["a"], ["b/a"]],
  ["a//b/./c/", ["a/b/c", "a/b/c/d"], ["a/b"]],
  [".", [], ["a"]],
  ["/", [], ["a"]],
  ["a/**", ["a/b", "a/b/c"], ["a", "ab"]],
  ["a**", ["a", "ab", "a/b/c"], ["ba"]],
  ["**a", ["a", "xa", "b/xa", "a/b"], ["ab"]],
  ["**a?", ["ab", "c/ab"], ["xab"]],
  ["a**b", ["ab", "ax/b", "a/b"], ["axb"]],
  ["**/a/**", ["a/b", "x/a/b/c"], ["a", "x/a"]],
  ["**/.env*", [".env", "a/.env.local"], ["env", "a.env"]],
  ["?.txt", ["😀.txt", "a.txt"], ["ab.txt"]],
  ["{a,b}+(c)|$^", ["{a,b}+(c)|$^"], ["a", "b"]],
  ["*.md\n!README.md", ["a.md"], ["README.md"]],
  ["docs\n!docs/keep\ndocs/keep/not", ["docs/a", "docs/keep/not"], ["docs/keep/a"]],
  ["a.b", [], ["axb"]],
  [IGNORED_BY_DEFAULT, [".git/config", "web/node_modules/a/b.js", "__pycache__/a"], [".github/a", "src/git"]],
])("the patterns %j leave out what they match", (text, ignored, kept) => {
  const ignore = readIgnore(text);
  expect(ignored.filter((path) => !ignore.isIgnored(path))).toEqual([]);
  expect(kept.filter((path) => ignore.isIgnored(path))).toEqual([]);
});

test.each([
  ...["[", "[a", "a[", "*.[kp", "[]", "[]a]", "[^]", "[a-]", "[-a]", "[a-b-]", "[z-a]", "a\\", "[a\\"],
  ...["!", "!  ", "![a", "a/[b"],
])("a line that is no pattern is refused, and lets nothing in: %j", (line) => {
  expect(() => readIgnore(`ok\n${line}\n`)).toThrow(
    expect.objectContaining({
      code: "invalid_build",
      message: `.dockerignore, line 2: ${JSON.stringify(line.trim())} is no pattern.`,
    }),
  );
});

test("a folder is not read where all in it is left out, unless something may be taken back", () => {
  expect(readIgnore("a").isIgnoredWhole("a")).toBe(true);
  expect(readIgnore("a/*.txt").isIgnoredWhole("a")).toBe(false);
  expect(readIgnore("a\n!a/b").isIgnoredWhole("a")).toBe(false);
});

test("no pattern takes long", () => {
  const path = `${"a".repeat(200)}/`.repeat(20);
  const classes = "*[a-z]".repeat(150);
  const ignore = readIgnore(
    `${"*a".repeat(400)}b\n${"**/*a/".repeat(100)}b\n${classes}-\n${"**a".repeat(300)}-`,
  );
  expect(ignore.isIgnored(`${path}c`)).toBe(false);
  expect(() => readIgnore("a".repeat(1_001))).toThrow("line 1: the pattern has more than 1000 characters");
  expect(() => readIgnore("a\n".repeat(2_001))).toThrow("has more than 2000 patterns");
});

test("a context is bounded in bytes, entries and the length of a path", () => {
  const most = { bytes: CONTEXT_MAX_BYTES, entries: CONTEXT_ENTRIES_MAX };
  boundContext(most, "a");
  expect(() => boundContext({ ...most, bytes: most.bytes + 1 }, "a")).toThrow(/more than \d+ bytes/);
  expect(() => boundContext({ ...most, entries: most.entries + 1 }, "a")).toThrow(/more than \d+ entries/);
  expect(() => boundContext(most, "ä".repeat(501))).toThrow(/a path of more than 1000 bytes/);
});
