import fc from "fast-check";
import { expect, test } from "vitest";
import { commandLineOf, processOf, resolvePath, TAG_MAX_CHARS, tagOf } from "../src/e2b/command-line.ts";

const user = { name: "user", uid: 1_000, gid: 1_000, home: "/home/user" };
const root = { name: "root", uid: 0, gid: 0, home: "/root" };

const text = fc.string({ unit: "grapheme", maxLength: 60 });
const asked = fc.record({
  cmd: text.filter((cmd) => cmd !== "--"),
  args: fc.array(text, { maxLength: 5 }),
  cwd: fc.option(text, { nil: undefined }),
  tag: fc.option(text, { nil: undefined }),
});

test("a process is told again as it was asked for, whatever is in its words", () => {
  fc.assert(
    fc.property(asked, fc.constantFrom(user, root), (process, who) => {
      expect(processOf(commandLineOf(process, who))).toEqual(process);
    }),
  );
});

test("no word leaves its quotes", () => {
  const line = commandLineOf(
    { cmd: "a'; reboot; '", args: ["$(reboot)\n`reboot`"], cwd: undefined, tag: "\n" },
    user,
  );
  expect(line.split("\n", 1)).toEqual(['#e2b {"tag":"\\n"}']);
  expect(line.slice(line.indexOf("\n") + 1)).toBe(
    "exec '/usr/bin/setpriv' '--reuid=1000' '--regid=1000' '--init-groups' '--' 'a'\\''; reboot; '\\''' '$(reboot)\n`reboot`'",
  );
});

test("a folder that the client names is entered by the user of the process", () => {
  const placed = { cmd: "pwd", args: [], cwd: "/root", tag: undefined };
  expect(commandLineOf(placed, user)).toContain("'--init-groups' '/usr/bin/env' '--chdir=.' '--' 'pwd'");
  expect(commandLineOf(placed, root)).not.toContain("--chdir");
  expect(commandLineOf({ ...placed, cwd: undefined }, user)).not.toContain("--chdir");
});

test("what a guest makes up is read as far as it goes, and never throws", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (tail) => void processOf(`#e2b ${tail}`)));
  expect(processOf("sleep 5")).toBeUndefined();
  const cut = commandLineOf({ cmd: "/bin/bash", args: ["-c", "x".repeat(2_000)], cwd: "/a", tag: "t" }, user);
  const { args, ...rest } = processOf(cut.slice(0, 1_024)) ?? { args: [] };
  expect([rest, args[0]]).toEqual([{ cmd: "/bin/bash", cwd: "/a", tag: "t" }, "-c"]);
  expect(args[1]).toMatch(/^x{500,1000}$/);
});

test("a hostile command is read in one pass", () => {
  // Megabytes that took a backtracking reader years: quotes that end nothing, and escapes without an end.
  for (const hostile of [
    "'".repeat(2_000_000),
    `'${String.raw`'\\''`.repeat(500_000)}x'y`,
    "'a".repeat(1_000_000),
  ]) {
    const found = processOf(`#e2b {"tag":"t"}\nexec ${hostile}`);
    expect(found?.tag).toBe("t");
    expect(found?.args.length).toBeLessThan(2);
  }
  expect(processOf(`#e2b ${"[".repeat(3_000_000)}\nexec 'a'`)).toBeUndefined();
  expect(tagOf(`#e2b ${"[".repeat(3_000_000)}`)).toBeUndefined();
});

test("the longest tag is found without reading the command", () => {
  const tag = "\0".repeat(TAG_MAX_CHARS);
  const line = commandLineOf({ cmd: "a", args: [], cwd: "/".repeat(1_000), tag }, user);
  expect([tagOf(line), processOf(line)?.tag]).toEqual([tag, tag]);
});

test.each([
  ["a.txt", "/home/user/a.txt"],
  ["~/a", "/home/user/a"],
  ["~", "/home/user"],
  ["/etc/../tmp/./x", "/tmp/x"],
  ["../../../..", "/"],
  ["", "/home/user"],
])("the path %j of a user is %s", (path, expected) => {
  expect(resolvePath(path, user)).toBe(expected);
});
