import { readFileSync } from "node:fs";
import path from "node:path";

import {
  encodeFrame,
  FrameError,
  FrameParser,
  type FrameType,
  MAX_FRAME_BYTES,
} from "@skerry/contract/frames";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";

import { type Build, buildSanitized } from "./support/sanitized.ts";

interface Golden {
  readonly name: string;
  readonly hex: string;
  readonly type: number;
  readonly stream: number;
  readonly payload: string;
}

const golden = JSON.parse(
  readFileSync(path.join(import.meta.dirname, "golden-frames.json"), "utf8"),
) as Golden[];

const BUILD_MS = 120_000;
let build: Build;
beforeAll(async () => void (build = await buildSanitized()), BUILD_MS);

const line = (frame: { type: number; stream: number; payload: Buffer }): string =>
  `${frame.type} ${frame.stream} ${frame.payload.toString("hex")}`;

/** What the TypeScript parser makes of the bytes, in the words of the C test program. */
function parseHere(bytes: Buffer, piece: number): string[] {
  const parser = new FrameParser();
  const lines: string[] = [];
  try {
    for (let at = 0; at < bytes.length; at += piece) {
      for (const frame of parser.push(bytes.subarray(at, at + piece))) lines.push(line(frame));
    }
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    return [...lines, "lost"];
  }
  return [...lines, "end"];
}

const aFrame = fc
  .record({
    type: fc.integer({ min: 1, max: 9 }),
    stream: fc.nat(0xffff_ffff),
    payload: fc.uint8Array({ maxLength: 300 }),
  })
  .map(({ type, stream, payload }) => encodeFrame(type as FrameType, stream, Buffer.from(payload)));

test("both sides encode and parse the golden frames to the byte", () => {
  for (const { name, hex, type, stream, payload } of golden) {
    expect(encodeFrame(type as FrameType, stream, Buffer.from(payload, "hex")).toString("hex"), name).toBe(
      hex,
    );
    expect(parseHere(Buffer.from(hex, "hex"), 7), name).toEqual([`${type} ${stream} ${payload}`, "end"]);
  }
  const cases = golden.map(({ hex }) => ({ kind: "f" as const, piece: 7, bytes: Buffer.from(hex, "hex") }));
  expect(build.parse(cases)).toEqual(
    golden.map(({ type, stream, payload }) => [`${type} ${stream} ${payload}`, "end"]),
  );
});

test("both sides cut the same bytes into the same frames, wherever the pieces end", () => {
  const cases = fc.sample(
    fc.record({
      piece: fc.integer({ min: 1, max: 400 }),
      bytes: fc
        .array(
          fc.oneof(
            { weight: 4, arbitrary: aFrame },
            { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }) },
          ),
        )
        .map((parts) => Buffer.concat(parts)),
    }),
    1500,
  );
  const answers = build.parse(cases.map((given) => ({ kind: "f", ...given })));
  for (const [index, { bytes, piece }] of cases.entries()) {
    expect(answers[index], bytes.toString("hex")).toEqual(parseHere(bytes, piece));
  }
});

test("a frame of the full length goes through, and one byte more breaks the protocol", () => {
  const full = encodeFrame(3, 5, Buffer.alloc(64 * 1024, 0xab));
  const longer = Buffer.from(full);
  longer.writeUInt32LE(64 * 1024 + 1, 1);
  const pieces = [1000, 4096, 70_000];
  for (const piece of pieces) {
    expect(build.parse([{ kind: "f", piece, bytes: Buffer.concat([full, full]) }])[0]).toEqual(
      parseHere(Buffer.concat([full, full]), piece),
    );
    expect(build.parse([{ kind: "f", piece, bytes: longer }])[0]).toEqual(["lost"]);
  }
});

test("after any garbage a run of zeros brings the agent back to the start of a frame", () => {
  const good = encodeFrame(9, 0, Buffer.from("still here"));
  const cases = fc
    .sample(fc.tuple(fc.uint8Array({ maxLength: 2000 }), fc.integer({ min: 1, max: 9000 })), 300)
    .map(([garbage, piece]) => ({
      kind: "f" as const,
      piece,
      bytes: Buffer.concat([garbage, Buffer.alloc(MAX_FRAME_BYTES), good]),
    }));
  for (const answer of build.parse(cases)) {
    expect(answer.slice(-2)).toEqual([`9 0 ${Buffer.from("still here").toString("hex")}`, "end"]);
  }
});
