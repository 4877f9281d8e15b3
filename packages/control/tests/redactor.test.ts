import { randomBytes, randomInt } from "node:crypto";
import { expect, test, vi } from "vitest";
import { Redactor } from "@skerry/contract/secrets/redactor";

const VALUE = 'pass/w+rd "of" mine';
const LONG = Array.from({ length: 40 }, (_, at) => `part ${at} of a long value`).join(", ");
const redactor = new Redactor([
  VALUE,
  LONG,
  "short",
  "-----BEGIN KEY-----\r\nMIIEabcdefgh\nend\n",
  "größer als ß",
]);

test.each([
  ["as it is", VALUE],
  ["as JSON", JSON.stringify(VALUE).slice(1, -1)],
  ["in a URL", encodeURIComponent(VALUE)],
  ["of letters beyond ASCII", "größer als ß"],
  ["as JSON in bytes", Buffer.from(JSON.stringify("größer als ß").slice(1, -1)).toString("latin1")],
  [
    "in a URL with small letters",
    encodeURIComponent(VALUE).replaceAll("%2F", "%2f").replaceAll("%2B", "%2b"),
  ],
  ["a line of several", "MIIEabcdefgh"],
  ["of many patterns", LONG],
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
  for (let round = 0; round < 100; round += 1) {
    const values = Array.from({ length: 100 }, () => randomBytes(6 + randomInt(200)).toString("base64url"));
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
    // A piece of a long value counts as a value, too.
    const left = values.filter((value) => kept.includes(value.slice(0, 8)) || kept.includes(value.slice(-8)));
    expect(left).toEqual([]);
  }
});

test("values that overlap are replaced whole", () => {
  const both = new Redactor(["abcdefghij", "efghijklmnopqrst"]);
  expect(both.redact("<abcdefghijklmnopqrst>")).toBe(`<${"*".repeat(20)}>`);
});

test("lines of base64 are replaced", () => {
  const lines =
    Buffer.from(LONG)
      .toString("base64")
      .match(/.{1,76}/g) ?? [];
  expect(lines.length).toBeGreaterThan(10);
  const left = lines.map((line) => redactor.redact(line)).join("");
  expect(left.replaceAll("*", "").length).toBeLessThan(4);
});

test("values that a tenant chooses cost no more memory and time than others", () => {
  const alike = Array.from({ length: 64 }, (_, at) => `${"A".repeat(60_000 + at)}B`);
  const short = Array.from({ length: 64 }, () =>
    Array.from({ length: 7_000 }, () => randomBytes(4).toString("hex")).join("\n"),
  );
  for (const values of [alike, short]) {
    const hostile = new Redactor(values);
    const text = "A".repeat(10_000);
    const compared = vi.spyOn(String.prototype, "startsWith");
    hostile.redact(text);
    expect(compared.mock.calls.length).toBeLessThanOrEqual(4 * text.length);
    compared.mockRestore();
  }
});
