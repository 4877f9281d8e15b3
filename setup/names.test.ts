// The measures of `names.ts`: a figure that counts wrongly would be believed.

import { expect, test } from "vitest";
import { commentWordsOf, namingOf } from "./names.ts";

test.each([
  ["an export of the same name", "vm-table.ts", "export class VmTable {}", true],
  ["a longer export", "netns.ts", "export function netnsFileOf(): void {}", true],
  ["the singular", "policies.ts", "export interface Policy {}", true],
  ["a re-exported name", "slots.ts", "const a = 1;\nexport { a as slotRange };", true],
  ["a store whose exports name the noun", "machine-store.ts", "export function readMachine() {}", true],
  ["a private word", "footing.ts", "export type HostCompatibility = string;", false],
])("a file with %s is counted", (_what, file, text, isNamedAfterExport) => {
  expect(namingOf(file, text)).toEqual({ file, isNamedAfterExport });
});

test("a file without exports is not counted", () => {
  expect(namingOf("main.ts", "const started = 1;")).toBeUndefined();
});

test("words are counted in comments only", () => {
  const text =
    '// Whoever asks.\nconst nobody = "whatever";\n/** Nobody, and nobody. */\nf(); // for somebody';
  expect(commentWordsOf(text)).toEqual({
    commentLines: 3,
    riddles: [
      "// Whoever asks.",
      "/** Nobody, and nobody. */",
      "/** Nobody, and nobody. */",
      "f(); // for somebody",
    ],
  });
});
