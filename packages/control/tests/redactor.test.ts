import { randomBytes, randomInt } from "node:crypto";
import { expect, test } from "vitest";
import { Redactor } from "../src/secrets/redactor.ts";

const VALUE = 'pass/w+rd "of" mine';
const redactor = new Redactor([VALUE, "short", "-----BEGIN KEY-----\r\nMIIEabcdefgh\nend\n", "größer als ß"]);

test.each([
  ["as it is", VALUE],
  ["as JSON", JSON.stringify(VALUE).slice(1, -1)],
  ["in a URL", encodeURIComponent(VALUE)],
  ["of letters beyond ASCII", "größer als ß"],
  ["a line of several", "MIIEabcdefgh"],
])("a value is replaced %s", (_how, form) => {
  const text = redactor.redact(`before ${form}${form} after`);
  expect(text).toBe(`before ${"*".repeat(2 * form.length)} after`);
});

test.each(["base64", "base64url"] as const)(
  "a value within other %s is not readable from what is left",
  (encoding) => {
    for (const before of ["", "u", "us", "user:"])
      for (const after of ["", "\n", "xx"]) {
        const text = Buffer.from(before + VALUE + after).toString(encoding);
        const left = Buffer.from(redactor.redact(text).replaceAll("*", "A"), encoding).toString("latin1");
        expect(left).not.toContain(VALUE.slice(2, -2));
      }
  },
);

test("a short value, and what only begins like one, stay", () => {
  for (const text of ["short", VALUE.slice(0, -1), "", "end"]) expect(redactor.redact(text)).toBe(text);
  expect(new Redactor([]).redact(VALUE)).toBe(VALUE);
});

test("bytes stay as many, and others as they were", () => {
  const bytes = Buffer.concat([Buffer.of(0xff, 0xc3), Buffer.from("größer als ß"), Buffer.of(0xfe)]);
  const redacted = redactor.redactBytes(bytes);
  expect(redacted).toEqual(
    Buffer.concat([Buffer.of(0xff, 0xc3), Buffer.from("*".repeat(bytes.length - 3)), Buffer.of(0xfe)]),
  );
});

test("none of 10,000 values slips through a text that is cut at random places", () => {
  const values = Array.from({ length: 10_000 }, () => randomBytes(6 + randomInt(40)).toString("base64url"));
  const many = new Redactor(values);
  let rest = "";
  let kept = "";
  for (const value of values) {
    // Pieces as they come from a command: a value may be in two of them.
    const text = randomBytes(randomInt(30)).toString("hex") + value;
    const at = randomInt(text.length);
    for (const piece of [text.slice(0, at), text.slice(at)]) {
      rest += piece;
      for (let cut = many.cutOf(rest, 100); cut !== undefined; cut = many.cutOf(rest, 100)) {
        kept += many.redact(rest.slice(0, cut));
        rest = rest.slice(cut);
      }
    }
  }
  kept += many.redact(rest);
  expect(values.filter((value) => kept.includes(value))).toEqual([]);
});
