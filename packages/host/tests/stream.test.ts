import * as fc from "fast-check";
import { frameTypes, PAYLOAD_MAX_BYTES, WINDOW_BYTES } from "@skerry/contract/frames";
import { expect, test } from "vitest";
import { GuestStream, type OutputKind } from "../src/guest/stream.ts";

const MIB = 1024 * 1024;
/** Above what waits for the garbage collector, and far below a block for each piece, which would be gigabytes. */
const NOTICEABLE_BYTES = 48 * MIB;

function streamWithSent(): { stream: GuestStream; sent: Buffer[] } {
  const sent: Buffer[] = [];
  return { stream: new GuestStream(1, (frame) => void sent.push(frame)), sent };
}

async function readAll(stream: GuestStream): Promise<{ kind: OutputKind; text: string }[]> {
  stream.finish({ ok: true, result: {} });
  const parts: { kind: OutputKind; text: string }[] = [];
  for (let part = await stream.read(); part !== undefined; part = await stream.read()) {
    parts.push({ kind: part.kind, text: part.bytes.toString("latin1") });
  }
  return parts;
}

/** Neighbours of one kind put together: where one piece ended and the next began does not matter. */
function runs(parts: readonly { kind: OutputKind; text: string }[]): { kind: OutputKind; text: string }[] {
  const joined: { kind: OutputKind; text: string }[] = [];
  for (const { kind, text } of parts.filter((part) => part.text !== "")) {
    const last = joined.at(-1);
    if (last?.kind === kind) last.text += text;
    else joined.push({ kind, text });
  }
  return joined;
}

/** Everything that the process holds, buffers and objects. */
function heldBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const piece = fc.record({
  kind: fc.constantFrom<OutputKind>("data", "stderr"),
  bytes: fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 50 }),
    fc.constantFrom(4_095, 4_096, 5_000, 16_384).map((length) => new Uint8Array(length).fill(length & 0xff)),
  ),
});

test("pieces of output that wait for a reader are given to it whole and in order, however they were gathered", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
      const { stream } = streamWithSent();
      for (const { kind, bytes } of pieces) stream.receiveOutput(kind, Buffer.from(bytes));
      const sent = pieces.map(({ kind, bytes }) => ({ kind, text: Buffer.from(bytes).toString("latin1") }));
      expect(runs(await readAll(stream))).toEqual(runs(sent));
    }),
    { numRuns: 50 },
  );
});

test("a window of single bytes that nobody reads takes little more memory than their number", async () => {
  const { stream } = streamWithSent();
  const before = heldBytes();
  const byte = Buffer.of(1);
  for (let sent = 0; sent < WINDOW_BYTES; sent += 1) stream.receiveOutput("data", byte);
  expect(heldBytes() - before).toBeLessThan(NOTICEABLE_BYTES);
  expect((await readAll(stream)).map(({ text }) => text).join("")).toHaveLength(WINDOW_BYTES);
});

test("a window of single bytes, by turns of output and of error output, takes little memory too", async () => {
  const { stream } = streamWithSent();
  const before = heldBytes();
  const byte = Buffer.of(1);
  for (let sent = 0; sent < WINDOW_BYTES; sent += 1) {
    stream.receiveOutput(sent % 2 === 0 ? "data" : "stderr", byte);
    if (sent % 1_024 === 0 && heldBytes() - before > 4 * NOTICEABLE_BYTES) break;
  }
  expect(heldBytes() - before).toBeLessThan(NOTICEABLE_BYTES);
  const parts = await readAll(stream);
  for (const kind of ["data", "stderr"]) {
    const texts = parts.filter((part) => part.kind === kind).map(({ text }) => text);
    expect(texts.join("")).toHaveLength(WINDOW_BYTES / 2);
  }
});

test("output and credit of nothing, which a guest could send without end, are violations", () => {
  const { stream } = streamWithSent();
  expect(() => stream.receiveOutput("data", Buffer.alloc(0))).toThrow("empty");
  expect(() => stream.receiveCredit(0)).toThrow("no credit");
});

test("a piece of output does not keep the memory of the larger chunk that it came in", async () => {
  const { stream } = streamWithSent();
  for (let sent = 0; sent < WINDOW_BYTES / 4_096; sent += 1) {
    stream.receiveOutput("data", Buffer.alloc(MIB).subarray(5, 5 + 4_096));
  }
  const parts: Buffer[] = [];
  stream.finish({ ok: true, result: {} });
  for (let part = await stream.read(); part !== undefined; part = await stream.read()) parts.push(part.bytes);
  for (const bytes of parts) expect(bytes.buffer.byteLength).toBeLessThan(64 * 1024);
});

test("credit goes back to the guest only for what was read, and in halves of the window", async () => {
  const { stream, sent } = streamWithSent();
  for (let part = 0; part < 4; part += 1) stream.receiveOutput("data", Buffer.alloc(PAYLOAD_MAX_BYTES));
  expect(() => stream.receiveOutput("data", Buffer.of(1))).toThrow("it sent more than it had credit for");
  expect(sent).toEqual([]);
  await stream.read();
  expect(sent).toEqual([]);
  await stream.read();
  expect(sent.map((frame) => [frame[0], frame.readUInt32LE(9)])).toEqual([
    [frameTypes.window, WINDOW_BYTES / 2],
  ]);
});
