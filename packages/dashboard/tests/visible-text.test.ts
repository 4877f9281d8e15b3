import { expect, test } from "vitest";
import { fewMarks, visible } from "../src/ui/visible-text.ts";

test.each([
  ["plain, with\ttabs,\nlines and \r", "plain, with\ttabs,\nlines and \\x0d"],
  ["\x1b[2J\x07\x7f\x9b", String.raw`\x1b[2J\x07\x7f\x9b`],
  ["a\u202eb\u2066c", String.raw`a\u202eb\u2066c`],
  ["שלום, مرحبا, ภาษาไทย, é, 👨‍👩‍👧", "שלום, مرحبا, ภาษาไทย, é, 👨‍👩‍👧"],
])("%j is shown as %j", (text, shown) => {
  expect(visible(text)).toBe(shown);
});

test.each([
  ["marks", "\u0301"],
  ["marks that are two halves", "\u{1e8d0}"],
  ["joiners", "\u200d"],
  ["parts of syllables", "\u1160"],
  ["what has no width between them", "\u0301\x7f"],
])("of %s without number a few stay on one character, also where they come in pieces", (_what, mark) => {
  const text = `a${mark.repeat(1_000)}b${mark.repeat(2)}`;
  const whole = fewMarks()(text);
  expect(Array.from(whole)).toHaveLength(1 + 30 + 1 + Array.from(mark).length * 2);
  for (const size of [1, 7, 100]) {
    const bounded = fewMarks();
    const characters = Array.from(text);
    let joined = "";
    for (let at = 0; at < characters.length; at += size)
      joined += bounded(characters.slice(at, at + size).join(""));
    expect(joined).toBe(whole);
  }
});
