// Forms of hostile clients: more files than are read, and headers without an end.

import { setImmediate as turn } from "node:timers/promises";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { filesOf } from "../src/e2b/form-files.ts";

const headers = { "content-type": "multipart/form-data; boundary=x" };
const CHUNK_BYTES = 1_024;

/** A request with this body, and how much of it was asked for. */
function requestOf(body: Buffer) {
  const sent = { bytes: 0 };
  const raw = new Readable({
    highWaterMark: CHUNK_BYTES,
    read() {
      const chunk = body.subarray(sent.bytes, sent.bytes + CHUNK_BYTES);
      sent.bytes += chunk.length;
      this.push(chunk.length === 0 ? null : chunk);
    },
  });
  const request = { raw: Object.assign(raw, { complete: true }), headers };
  return { sent, files: filesOf(request as unknown as Parameters<typeof filesOf>[0]) };
}

function formOf(count: number, bytes: number, more = ""): Buffer {
  const part = (index: number) =>
    `--x\r\ncontent-disposition: form-data; name="file"; filename="${index}"${more}\r\n\r\n${"a".repeat(bytes)}\r\n`;
  return Buffer.from(`${Array.from({ length: count }, (_, index) => part(index)).join("")}--x--\r\n`);
}

async function sizesOf(files: AsyncIterable<{ readonly content: Readable }>): Promise<number[]> {
  const sizes: number[] = [];
  for await (const { content } of files) {
    let size = 0;
    for await (const chunk of content as AsyncIterable<Buffer>) size += chunk.length;
    sizes.push(size);
  }
  return sizes;
}

test("a form waits with its client while a file of it waits", async () => {
  const body = formOf(100, 10_000);
  const { files, sent } = requestOf(body);
  const first = await files.next();
  for (let turns = 0; turns < 5_000; turns++) await turn();
  expect(sent.bytes).toBeLessThan(100_000);
  first.value?.content.resume();
  expect(await sizesOf(files)).toEqual(Array.from({ length: 99 }, () => 10_000));
  expect(sent.bytes).toBe(body.length);
});

test("a form of one file more than it may have is refused, and not taken for a smaller one", async () => {
  await expect(sizesOf(requestOf(formOf(101, 1)).files)).rejects.toThrow("more than 100 files");
  expect(await sizesOf(requestOf(formOf(100, 0)).files)).toEqual(Array.from({ length: 100 }, () => 0));
  expect(await sizesOf(requestOf(formOf(2, 500_000)).files)).toEqual([500_000, 500_000]);
});

test("the header of a part is kept as far as it may be long", async () => {
  const { files } = requestOf(formOf(1, 5, `; x="${"h".repeat(1_000_000)}"`));
  for await (const { name, content } of files) {
    expect(name?.length ?? 0).toBeLessThan(8 * 1_024);
    content.resume();
  }
});
