import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";

import { type Build, buildSanitized } from "./support/sanitized.ts";

const BUILD_MS = 120_000;
let build: Build;
beforeAll(async () => void (build = await buildSanitized()), BUILD_MS);

const hex = (text: string): string => Buffer.from(text).toString("hex");
const parse = (texts: readonly (string | Buffer)[]): string[][] =>
  build.parse(texts.map((text) => ({ kind: "j", piece: 0, bytes: Buffer.from(text as string) })));

const aString = fc.string({ unit: "grapheme", maxLength: 60 }).filter((text) => !text.includes("\0"));
const aKey = aString.filter((key) => key !== "" && !key.includes("=") && key !== "__proto__");

test("the agent understands every command, workdir and variable as it was sent", () => {
  const requests = fc.sample(
    fc.record({
      command: aString,
      workdir: aString.map((text) => `/${text}`),
      env: fc.dictionary(aKey, aString, { maxKeys: 8, noNullPrototype: true }),
      timeout_ms: fc.integer({ min: 1, max: 86_400_000 }),
    }),
    500,
  );
  const answers = parse(
    requests.map((request, index) =>
      JSON.stringify({ op: "execute", stdin: false, output_limit: 0, ...request }, null, index % 3),
    ),
  );
  for (const [index, { command, workdir, env, timeout_ms }] of requests.entries()) {
    expect(answers[index]).toEqual([
      `op ${hex("execute")}`,
      `command ${hex(command)}`,
      `workdir ${hex(workdir)}`,
      ...Object.entries(env).map(([key, value]) => `env ${hex(`${key}=${value}`)}`),
      `timeout_ms ${timeout_ms}`,
      "end",
    ]);
  }
});

test("escaped characters of every plane come out as UTF-8", () => {
  const text = String.raw`{"op":"read","path":"/\u00e9\u20ac\ud83d\ude00\n\t\"\\\/"}`;
  expect(parse([text])[0]).toEqual([
    `op ${hex("read")}`,
    `path ${hex('/é€😀\n\t"\\/')}`,
    "timeout_ms 0",
    "end",
  ]);
});

test.each([
  ["an empty request", ""],
  ["a list", "[]"],
  ["an unknown operation", '{"op":"format"}'],
  ["an unknown field", '{"op":"read","path":"/a","color":"red"}'],
  ["a field twice", '{"op":"read","path":"/a","path":"/b"}'],
  ["a missing field", '{"op":"write","path":"/a"}'],
  ["a relative path", '{"op":"read","path":"a"}'],
  ["a NUL in a path", String.raw`{"op":"read","path":"/a\u0000b"}`],
  ["half a surrogate pair", String.raw`{"op":"read","path":"/\ud83d"}`],
  ["a control character", '{"op":"read","path":"/a\nb"}'],
  ["a fraction", '{"op":"list","path":"/a","limit":1.5}'],
  ["an exponent", '{"op":"list","path":"/a","limit":1e3}'],
  ["a huge number", '{"op":"list","path":"/a","limit":99999999999999999999}'],
  ["bits beyond the mode", '{"op":"write","path":"/a","mode":65536}'],
  ["a trailing comma", '{"op":"read","path":"/a",}'],
  ["something after the end", '{"op":"read","path":"/a"} {}'],
  ["an unfinished string", '{"op":"read","path":"/a'],
  ["an unfinished escape", '{"op":"read","path":"/a\\'],
])("the agent refuses %s", (_, text) => {
  expect(parse([text])[0]?.[0]).toMatch(/^refused /u);
});

test("no bytes make the request parser fail", () => {
  const whole =
    '{"op":"execute","command":"a\\u00e9b","env":{"A":"b","C":""},"timeout_ms":5,"stdin":true,"output_limit":9}';
  const mutated = fc
    .tuple(fc.nat(whole.length - 1), fc.uint8Array({ maxLength: 6 }), fc.nat(8))
    .map(([at, bytes, cut]) =>
      Buffer.concat([Buffer.from(whole.slice(0, at)), bytes, Buffer.from(whole.slice(at + cut))]),
    );
  const cases = fc.sample(
    fc.oneof(
      mutated,
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    ),
    3000,
  );
  expect(parse(cases)).toHaveLength(cases.length);
});
