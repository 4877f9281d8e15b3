// Files of pages as native/memory-pages.h describes them, written and read without the code under test.

export const PAGE_BYTES = 4_096;
const HEAD_BYTES = 24;

export interface PageRun {
  readonly memoryAt: number;
  readonly bytes: Buffer;
}

export function pagesFile(memoryBytes: number, runs: readonly PageRun[]): Buffer {
  const index = HEAD_BYTES + runs.length * 24;
  let at = Math.ceil(index / PAGE_BYTES) * PAGE_BYTES;
  const head = Buffer.alloc(at);
  head.write("SKRYMEM1");
  head.writeBigUInt64LE(BigInt(memoryBytes), 8);
  head.writeBigUInt64LE(BigInt(runs.length), 16);
  runs.forEach(({ memoryAt, bytes }, number) => {
    head.writeBigUInt64LE(BigInt(memoryAt), HEAD_BYTES + 24 * number);
    head.writeBigUInt64LE(BigInt(bytes.length), HEAD_BYTES + 24 * number + 8);
    head.writeBigUInt64LE(BigInt(at), HEAD_BYTES + 24 * number + 16);
    at += bytes.length;
  });
  return Buffer.concat([head, ...runs.map(({ bytes }) => bytes)]);
}

/** The memory that a guest has which starts from such a file over one without data. */
export function memoryIn(file: Buffer): Buffer {
  const memory = Buffer.alloc(Number(file.readBigUInt64LE(8)));
  for (let run = 0; run < Number(file.readBigUInt64LE(16)); run += 1) {
    const [memoryAt = 0, bytes = 0, at = 0] = [0, 8, 16].map((field) =>
      Number(file.readBigUInt64LE(HEAD_BYTES + 24 * run + field)),
    );
    file.copy(memory, memoryAt, at, at + bytes);
  }
  return memory;
}
