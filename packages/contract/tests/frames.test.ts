import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  encodeFrame,
  encodeHeader,
  encodeHello,
  encodeWindow,
  FrameError,
  FrameParser,
  frameTypes,
  HEADER_BYTES,
  HELLO_BYTES,
  MAX_FRAME_BYTES,
  parseJsonPayload,
  PAYLOAD_MAX_BYTES,
  type Frame,
  type FrameType,
} from "@skerry/contract/frames";

const types = Object.values(frameTypes).filter((type) => type !== frameTypes.pad);
const STREAM_MAX = 0xffff_ffff;

const frame: fc.Arbitrary<Frame> = fc.record({
  type: fc.constantFrom<FrameType>(...types),
  stream: fc.nat(STREAM_MAX),
  payload: fc.uint8Array({ maxLength: 600, size: "max" }).map((bytes) => Buffer.from(bytes)),
});
/** Padding before a frame, and the frame. */
const padded = fc.tuple(fc.nat(40), frame);
const cuts = fc.array(fc.nat(10_000), { maxLength: 30 });

function encoded(frames: readonly (readonly [number, Frame])[]): Buffer {
  return Buffer.concat(
    frames.flatMap(([zeros, { type, stream, payload }]) => [
      Buffer.alloc(zeros),
      encodeFrame(type, stream, payload),
    ]),
  );
}

/** The bytes in pieces, cut at these places. */
function pieces(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [...at.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return places.map((end, index) => bytes.subarray(places[index - 1] ?? 0, end));
}

/** Payloads are copied, because they may share memory with a chunk that a reader uses again. */
function parsed(parser: FrameParser, chunks: readonly Buffer[]): Frame[] {
  return chunks.flatMap((chunk) =>
    [...parser.push(chunk)].map((one) => ({ ...one, payload: Buffer.from(one.payload) })),
  );
}

test("any frames, with padding between them and cut into any chunks, are read as the same frames", () => {
  fc.assert(
    fc.property(fc.array(padded, { maxLength: 12 }), cuts, (frames, at) => {
      const parser = new FrameParser();
      expect(parsed(parser, pieces(encoded(frames), at))).toEqual(frames.map(([, one]) => one));
      expect(parser.atBoundary).toBe(true);
    }),
  );
});

test("frames that come one byte at a time are read as the same frames", () => {
  fc.assert(
    fc.property(fc.array(padded, { maxLength: 3 }), (frames) => {
      const bytes = encoded(frames);
      const single = pieces(bytes, Array.from(bytes.keys()));
      expect(parsed(new FrameParser(), single)).toEqual(frames.map(([, one]) => one));
    }),
    { numRuns: 20 },
  );
});

test("a frame of the largest size passes, and one byte more is refused by both sides", () => {
  const largest = Buffer.alloc(PAYLOAD_MAX_BYTES, 7);
  const [read] = [...new FrameParser().push(encodeFrame(frameTypes.data, 1, largest))];
  expect(read?.payload.equals(largest)).toBe(true);
  expect(() => encodeHeader(frameTypes.data, 1, PAYLOAD_MAX_BYTES + 1)).toThrow(FrameError);
  const header = encodeHeader(frameTypes.data, 1, 0);
  header.writeUInt32LE(PAYLOAD_MAX_BYTES + 1, 1);
  expect(() => [...new FrameParser().push(header)]).toThrow("65537 bytes is longer than 65536");
});

test("garbage is refused or read as frames, but never kept beyond the one frame that it began", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 400, size: "max" }), { maxLength: 20 }), (chunks) => {
      const parser = new FrameParser();
      let pending = 0;
      for (const chunk of chunks) {
        try {
          for (const { type, payload } of parser.push(Buffer.from(chunk))) {
            expect(types).toContain(type);
            expect(payload.length).toBeLessThanOrEqual(PAYLOAD_MAX_BYTES);
            pending = 0;
          }
        } catch (error) {
          expect(error).toBeInstanceOf(FrameError);
          return;
        }
        pending = parser.atBoundary ? 0 : pending + chunk.length;
        // What completes no frame is part of one.
        expect(pending).toBeLessThan(MAX_FRAME_BYTES + chunk.length);
      }
    }),
    { numRuns: 300 },
  );
});

test("every first byte above the last frame type is refused at once", () => {
  for (let type = frameTypes.ping + 1; type <= 0xff; type += 1) {
    expect(() => [...new FrameParser().push(Buffer.of(type))]).toThrow(`frame type ${type} does not exist`);
  }
});

test("a run of zeros as long as the longest frame brings a reader back, wherever the last frame broke off", () => {
  const rest = encodeFrame(frameTypes.close, 9, Buffer.from("{}"));
  const [expected] = [...new FrameParser().push(rest)];
  const longest = fc.constant({
    type: frameTypes.data,
    stream: 1,
    payload: Buffer.alloc(PAYLOAD_MAX_BYTES, 0xff),
  });
  fc.assert(
    fc.property(fc.oneof(frame, longest), fc.nat(MAX_FRAME_BYTES), (broken, at) => {
      const whole = encodeFrame(broken.type, broken.stream, broken.payload);
      const parser = new FrameParser();
      const cut = whole.subarray(0, at % whole.length);
      const frames = parsed(parser, [cut, Buffer.alloc(MAX_FRAME_BYTES), rest]);
      expect(frames.at(-1)).toEqual(expected);
      expect(frames.length).toBeLessThanOrEqual(2);
    }),
    { numRuns: 50 },
  );
});

test("hello and window have the layout that the head of the file describes", () => {
  const nonce = Buffer.from("000102030405060708090a0b0c0d0e0f", "hex");
  expect(encodeHello(nonce).toString("hex")).toBe(
    `01${"18000000"}${"00000000"}534b5259${"01000000"}${nonce.toString("hex")}`,
  );
  expect(encodeHello(nonce)).toHaveLength(HEADER_BYTES + HELLO_BYTES);
  expect(encodeWindow(0x01020304, 0x0a0b0c0d).toString("hex")).toBe("060400000004030201" + "0d0c0b0a");
});

test.each(["", "null", "7", '"text"', "[]", "{", "{}x", "\u0000"])(
  "%j is refused as a control payload, which is a JSON object",
  (text) => {
    expect(() => parseJsonPayload(Buffer.from(text))).toThrow(FrameError);
  },
);

test("a JSON object is a control payload, also where its text is not UTF-8 or names a prototype", () => {
  expect(parseJsonPayload(Buffer.from('{"a":"\xff"}', "latin1"))).toEqual({ a: "\ufffd" });
  const named = parseJsonPayload(Buffer.from('{"__proto__":{"exit_code":7}}'));
  expect(named["exit_code"]).toBeUndefined();
});
