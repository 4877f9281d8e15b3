import * as fc from "fast-check";
import { expect, test } from "vitest";
import { durationPattern, formatDuration, parseDuration } from "@skerry/contract/durations";

test("every duration that is written out reads back as the same milliseconds", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 999_999_999 * 3_600_000 }), (durationMs) => {
      const text = formatDuration(durationMs);
      expect(parseDuration(text)).toBe(durationMs);
      expect(text).toMatch(new RegExp(durationPattern));
    }),
  );
});

test.each([
  ["30s", 30_000],
  ["10m", 600_000],
  ["24h", 86_400_000],
  ["1h30m", 5_400_000],
  ["1h1m1s1ms", 3_661_001],
  ["90m", 5_400_000],
  ["250ms", 250],
  ["0h5s", 5_000],
  ["007s", 7_000],
])("%s is %i milliseconds", (text, durationMs) => {
  expect(parseDuration(text)).toBe(durationMs);
});

const refused = [
  ...["", "10", "0s", "0h0m0s", "-1s", "+1s", "1.5h", "1,5h", "1m1h", "1s1s", " 1s", "1s ", "1 s", "1s\n"],
  ...["1e3s", "0x1s", "1S", "1d", "1w", "s", "ms", "h", "PT1S", "Infinity", "NaN", "١s", "1_000s"],
  ...["9999999999s", `${"9".repeat(400)}h`],
];

test.each(refused)("%j is refused as a duration", (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test("no text, however strange, is read as a duration that is not a positive whole number", () => {
  const nearly = fc.stringMatching(/^[0-9hms. -]{0,30}$/);
  fc.assert(
    fc.property(fc.oneof(fc.string(), nearly), (text) => {
      const durationMs = parseDuration(text);
      if (durationMs === undefined) return;
      expect(Number.isSafeInteger(durationMs) && durationMs > 0).toBe(true);
      expect(text).toMatch(new RegExp(durationPattern));
    }),
  );
});
