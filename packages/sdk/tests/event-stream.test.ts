import fc from "fast-check";
import { expect, test } from "vitest";
import { EVENT_MAX_CHARS, EventStreamError, readEvents, type ServerEvent } from "../src/http/event-stream.ts";
import { allOf } from "./support/scripted-server.ts";

/** The stream's bytes, cut at these places. */
async function* cut(bytes: Uint8Array, places: readonly number[]): AsyncGenerator<Uint8Array> {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].sort(
    (a, b) => a - b,
  );
  for (const [at, start] of sorted.slice(0, -1).entries()) yield bytes.subarray(start, sorted[at + 1]);
}

async function eventsOf(text: string, places: readonly number[] = []): Promise<ServerEvent[]> {
  return allOf(readEvents(cut(new TextEncoder().encode(text), places)));
}

const line = fc
  .string({ unit: "grapheme", maxLength: 20 })
  .map((text) => text.replaceAll(/[\r\n\uFEFF]/g, "·"));
const lineEnd = fc.constantFrom("\n", "\r\n", "\r");

test("a stream reads the same however its bytes are cut and its lines end", async () => {
  const event = fc.record({
    event: fc.constantFrom("stdout", "exit"),
    data: fc.array(line, { minLength: 1, maxLength: 3 }),
  });
  const places = fc.array(fc.nat(), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 5 }), lineEnd, places, async (events, end, at) => {
      const text = events
        .map(({ event: name, data }) =>
          [": keepalive", `event: ${name}`, ...data.map((part) => `data: ${part}`), "", ""].join(end),
        )
        .join("");
      expect(await eventsOf(text, at)).toEqual(
        events.map(({ event: name, data }) => ({ event: name, data: data.join("\n") })),
      );
    }),
    { numRuns: 200 },
  );
});

test("comments, unknown fields and events without data are passed over", async () => {
  expect(await eventsOf(": keepalive\n\nid: 7\nevent: empty\n\ndata:x\n\n")).toEqual([
    { event: "message", data: "x" },
  ]);
});

test("an event that the end of the stream cut off is dropped", async () => {
  expect(await eventsOf("data: whole\n\ndata: half\n")).toEqual([{ event: "message", data: "whole" }]);
});

test("a line or an event without an end is refused before it fills the memory", async () => {
  await expect(eventsOf(`data: ${"x".repeat(EVENT_MAX_CHARS)}`)).rejects.toThrow(EventStreamError);
  const lines = "data: some text\n".repeat(EVENT_MAX_CHARS / 10);
  await expect(eventsOf(lines)).rejects.toThrow(EventStreamError);
});
