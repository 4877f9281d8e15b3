import { expect, test } from "vitest";
import { stepExtras } from "../src/builds/step-extras.ts";

test.each([
  [{}, ""],
  [{ cache_hit: false, bytes: null }, ""],
  [{ cache_hit: true, bytes: null }, "cached"],
  [{ cache_hit: false, bytes: 5 * 1024 * 1024 }, "5.0 MiB"],
  [{ cache_hit: true, bytes: 10 }, "cached, 10 B"],
])("beside a step of %j stands %j", (step, text) => {
  expect(stepExtras(step)).toBe(text);
});
