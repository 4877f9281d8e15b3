// Places in logs: whatever a guest prints and however it comes, a reader that goes on from any line has
// exactly the lines behind it.

import { expect, test } from "vitest";
import { PieceWriter, timedPieces, type TimedPiece } from "@skerry/contract/host-api/timed-console";
import { Redactor } from "@skerry/contract/secrets/redactor";
import {
  formatPlace,
  parsePlace,
  placedLines,
  positionOf,
  type LogPlace,
} from "../src/apps/logs/log-place.ts";

const SECRET = "hunter2-hunter2";
const redactor = new Redactor([SECRET]);

/** Pieces of so many bytes each, from a position on, with a time for each hundred bytes. */
async function* piecesFrom(log: Buffer, from: number, size: number): AsyncGenerator<TimedPiece> {
  yield { bytes: Buffer.alloc(0), atMs: undefined, position: from };
  for (let at = from; at < log.length; at += size)
    yield { bytes: log.subarray(at, at + size), atMs: 1_000 + Math.floor(at / 100), position: at };
}

interface Found {
  readonly text: string;
  readonly place: string;
}

async function read(pieces: AsyncIterable<TimedPiece>, after?: LogPlace, isWhole = false): Promise<Found[]> {
  const found: Found[] = [];
  for await (const { line, place } of placedLines(pieces, {
    redactorNow: async () => redactor,
    after,
    isWhole,
  }))
    if (line !== undefined) found.push({ text: line.line, place });
  return found;
}

const logs: readonly (readonly [what: string, log: Buffer])[] = [
  ["lines", Buffer.from("one\ntwo\r\n\nfour\nunfinished")],
  ["characters of several bytes", Buffer.from("grüße\n🎉🎉\n€\n".repeat(40))],
  [
    "no UTF-8",
    Buffer.concat([Buffer.from([0xff, 0xc3, 10, 0xe2, 0x82, 10, 10, 0xf0]), Buffer.from("x\ny\n")]),
  ],
  ["a line that is cut", Buffer.from(`a\n${"x".repeat(40_000)}\nb\n${"y".repeat(33_000)}`)],
  [
    "bytes that are no text, and are cut",
    Buffer.concat([Buffer.alloc(50_000, 0xfe), Buffer.from("\nend\n")]),
  ],
  ["a secret where it is cut", Buffer.from(`${"x".repeat(16_380)}${SECRET}${"z".repeat(20_000)}\nend\n`)],
  ["nothing", Buffer.alloc(0)],
];

test.each(logs)(
  "a reader of %s that goes on at any place has the rest, and nothing twice",
  async (_what, log) => {
    const all = await read(piecesFrom(log, 0, 4_096));
    for (const size of [1_000, 7_777, 65_536])
      expect((await read(piecesFrom(log, 0, size))).map(({ text }) => text)).toEqual(
        all.map(({ text }) => text),
      );
    for (const [index, { place }] of all.entries()) {
      const after = parsePlace(place);
      if (after === undefined) throw new Error(place);
      expect(formatPlace(after)).toBe(place);
      const rest = await read(piecesFrom(log, positionOf(after) ?? 0, 3_001), after);
      expect(rest).toEqual(all.slice(index + 1));
    }
    expect(all.map(({ text }) => text).join("")).not.toContain(SECRET);
  },
);

test("of a host that tells no positions, places are times and how many lines have begun at them", async () => {
  async function* pieces(): AsyncGenerator<TimedPiece> {
    yield { bytes: Buffer.from("old\n"), atMs: undefined };
    yield { bytes: Buffer.from("a\nb\nc\n"), atMs: 1_000 };
    yield { bytes: Buffer.from("d\ne\n"), atMs: 2_000 };
  }
  const all = await read(pieces());
  expect(all.map(({ place }) => place)).toEqual([
    "t0.1",
    "t1000.1",
    "t1000.2",
    "t1000.3",
    "t2000.1",
    "t2000.2",
  ]);
  for (const [index, { place }] of all.entries())
    expect(await read(pieces(), parsePlace(place))).toEqual(all.slice(index + 1));
});

test("a place of a time holds where the host has learned positions since", async () => {
  const log = Buffer.from("a\nb\nc\n");
  const all = await read(piecesFrom(log, 0, 100), parsePlace("t1000.2"));
  expect(all).toEqual([{ text: "c", place: "6" }]);
});

test("a log whose line was overwritten goes on at the oldest byte that is there", async () => {
  const log = Buffer.from("one\ntwo\nthree\n");
  expect((await read(piecesFrom(log, 8, 100), { position: 2, pieces: 1 })).map(({ text }) => text)).toEqual([
    "three",
  ]);
});

test("a log that does not come to the place is another one, and is read from its beginning", async () => {
  const log = Buffer.from("one\ntwo\n");
  const all = await read(piecesFrom(log, 0, 100), { position: 4_711, pieces: 2 });
  expect(all.map(({ text }) => text)).toEqual(["one", "two"]);
});

test.each(["", "x", "-1", "1.", "t1", "t1.x", "1234567890123456", "1,2", " 1"])("%j is no place", (text) => {
  expect(parsePlace(text)).toBeUndefined();
});

test("positions come over the wire, also behind a gap", async () => {
  const writer = new PieceWriter();
  const sent = [
    { bytes: Buffer.alloc(0), atMs: undefined, position: 5 },
    { bytes: Buffer.from("one\n"), atMs: 1, position: 5 },
    { bytes: Buffer.from("two\n"), atMs: 2, position: 9 },
    { bytes: Buffer.from("far\n"), atMs: undefined, position: 5_000_000_000 },
  ].map((piece) => writer.written(piece));
  const bytes = Buffer.concat(sent);
  async function* cut(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += 5) yield bytes.subarray(at, at + 5);
  }
  const got: (readonly [string, number | undefined, number | undefined])[] = [];
  for await (const piece of timedPieces(cut())) {
    const last = got.at(-1);
    const text = piece.bytes.toString();
    if (
      last !== undefined &&
      text !== "" &&
      last[0] !== "" &&
      last[2] === (piece.position ?? 0) - last[0].length &&
      last[1] === piece.atMs
    )
      got[got.length - 1] = [last[0] + text, last[1], last[2]];
    else got.push([text, piece.atMs, piece.position]);
  }
  expect(got).toEqual([
    ["", undefined, 5],
    ["one\n", 1, 5],
    ["two\n", 2, 9],
    ["", undefined, 5_000_000_000],
    ["far\n", undefined, 5_000_000_000],
  ]);
});
