// A new name in /etc/hosts, which is the user's but for that name.

import { beforeAll, expect, test } from "vitest";
import { type Build, buildSanitized } from "./support/sanitized.ts";

const BUILD_MS = 120_000;
let build: Build;

beforeAll(async () => void (build = await buildSanitized()), BUILD_MS);

/** Undefined where the file stays as it is. `complete`: as at boot, when what is missing is added. */
function renamed(text: string, complete = false): string | undefined {
  const bytes = Buffer.from(["box-old", "was-written", "box-new", text].join("\0"));
  const [lines] = build.parse([{ kind: "h", piece: complete ? 1 : 0, bytes }]);
  return lines?.[0] === "same" ? undefined : Buffer.from(lines?.[0] ?? "", "hex").toString();
}

test.each([
  ["the line that was written", "127.0.1.1\tbox-old\n", "127.0.1.1\tbox-new\n"],
  [
    "lines before and after, in their order",
    "10.9.8.7 db\n127.0.1.1\tbox-old\n::1 x\n",
    "10.9.8.7 db\n127.0.1.1\tbox-new\n::1 x\n",
  ],
  [
    "other names on the line, and its comment",
    "127.0.1.1  a box-old\tb # box-old\n",
    "127.0.1.1  a box-new\tb # box-old\n",
  ],
  ["the name that /etc/hostname has", "127.0.1.1 was-written", "127.0.1.1 box-new"],
  [
    "ends of lines of other systems",
    "127.0.1.1 box-old\r\n10.0.0.1 db\r\n",
    "127.0.1.1 box-new\r\n10.0.0.1 db\r\n",
  ],
  ["blanks before the address", " \t127.0.1.1 box-old", " \t127.0.1.1 box-new"],
])("a new name stands in the place of the former one: %s", (_what, before, after) => {
  expect(renamed(before)).toBe(after);
});

test.each([
  ["the former name at another address", "10.0.0.2 box-old\n"],
  ["a name that only begins like it", "127.0.1.1 box-old-too box\n"],
  ["a line that is a comment", "# 127.0.1.1 box-old\n"],
  ["no line of ours, which the user has removed", "10.9.8.7 db\n"],
  ["nothing at all", ""],
  ["the new name already", "127.0.1.1 box-new\n"],
  ["bytes that are no text", "\u0000\u0001\n10.9.8.7 db"],
])("the file stays as it is with %s", (_what, text) => {
  expect(renamed(text)).toBeUndefined();
});

test("what is missing is added at boot, and what an image has stays", () => {
  expect(renamed("", true)).toBe("127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n127.0.1.1\tbox-new\n");
  expect(renamed("127.0.0.1 a localhost\n10.9.8.7 db", true)).toBe(
    "127.0.0.1 a localhost\n10.9.8.7 db\n127.0.1.1\tbox-new\n",
  );
  expect(renamed("10.9.8.7 db\n127.0.1.1 was-written\n", true)).toBe(
    "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n10.9.8.7 db\n127.0.1.1 box-new\n",
  );
  expect(renamed("127.0.0.1 localhost\n127.0.1.1 box-new\n", true)).toBeUndefined();
});
