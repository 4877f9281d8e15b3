import fc from "fast-check";
import { expect, test } from "vitest";
import { HELLO_MAX_BYTES, readClientHello, type HelloResult } from "../src/names/client-hello.ts";
import { clientHello } from "./support/client-hello.ts";

/** As the proxy reads: not before there are as many bytes as it was told to wait for. */
function readInPieces(hello: Buffer): { readonly result: HelloResult; readonly reads: number } {
  let needed = 1;
  let reads = 0;
  for (let length = 1; length <= hello.length; length += 1) {
    if (length < needed) continue;
    reads += 1;
    const result = readClientHello(hello.subarray(0, length));
    if (result.kind !== "more") return { result, reads };
    needed = result.bytes;
  }
  return { result: { kind: "more", bytes: needed }, reads };
}

test("a ClientHello says its name whole, in single bytes and over many records", () => {
  const found = { kind: "name", name: "www.example.com", protocols: [] };
  const names = ["www.example.com"];
  expect(readClientHello(clientHello({ names }))).toEqual(found);
  expect(readClientHello(clientHello({ names, recordBytes: 10 }))).toEqual(found);
  expect(readInPieces(clientHello({ names, padding: 9_000, recordBytes: 1_000 })).result).toEqual(found);
});

test.each([
  ["no name", clientHello({}), "names no server"],
  ["two names", clientHello({ names: ["a.example", "b.example"] }), "twice"],
  ["an encrypted hello", clientHello({ names: ["a.example"], isEncrypted: true }), "encrypted"],
  ["single-byte records", clientHello({ names: ["a.example"], recordBytes: 1 }), "too many records"],
  ["a long hello", clientHello({ names: ["a.example"], padding: HELLO_MAX_BYTES }), "too long"],
  ["HTTP", Buffer.from("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"), "not begin as TLS"],
  ["another message", Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0]), "not begin with a ClientHello"],
  [
    "a message behind it",
    Buffer.concat([Buffer.from([22, 3, 1, 0, 6, 1, 0, 0, 0]), Buffer.from([0, 0])]),
    "follows",
  ],
])("%s is refused", (_what, bytes, why) => {
  const { result } = readInPieces(bytes);
  expect(result).toMatchObject({ kind: "refused", why: expect.stringContaining(why) as string });
});

test("whatever the bytes, they are read, waited for within bounds, or refused, and rarely read again", () => {
  const broken = fc
    .tuple(fc.nat(), fc.nat(255), fc.integer({ min: 5, max: 400 }))
    .map(([at, byte, recordBytes]) => {
      const hello = clientHello({ names: ["www.example.com"], padding: 50, recordBytes });
      hello[at % hello.length] = byte;
      return hello;
    });
  fc.assert(
    fc.property(
      fc.oneof(
        broken,
        fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      ),
      (bytes) => {
        const { result, reads } = readInPieces(bytes);
        if (result.kind === "more") expect(result.bytes).toBeLessThanOrEqual(HELLO_MAX_BYTES + 5);
        expect(reads).toBeLessThanOrEqual(100);
      },
    ),
  );
});
