// The output of an execution, as its agent sends it to a reader: records, so that order and positions are exact however a record is cut into
// frames, and a run of single bytes costs no object each.
//
//   record = u8 kind · u32 length · payload[length]      little-endian; kind 1 stdout, 2 stderr, 3 dropped (u64: the position that follows)
//
// A position counts the bytes of stdout and stderr together; a reader that names one goes on from there. What the agent has dropped the
// reader is told once, as the position that it goes on from.

/** A piece of what an execution wrote; `position` counts all bytes up to its end. `dropped`: nothing is left of the bytes from `from` on. */
export type ExecutionRecord =
  | { readonly kind: "stdout" | "stderr"; readonly bytes: Buffer; readonly position: number }
  | { readonly kind: "dropped"; readonly from: number; readonly position: number };

/** What came are not the records that go on from the position that was asked for. */
export class RecordError extends Error {
  override readonly name = "RecordError";
}

const HEADER_BYTES = 5;
const DROPPED_BYTES = 8;
const kinds = ["stdout", "stderr", "dropped"] as const;

/** Cuts a stream of bytes into records. Holds no payload: a record that has come in part is handed on in part. */
export class ExecutionRecordParser {
  readonly #header = Buffer.alloc(HEADER_BYTES + DROPPED_BYTES);
  #headerBytes = 0;
  #left = 0;
  #position: number;

  /** `position`: that of the first byte. */
  constructor(position: number) {
    this.#position = position;
  }

  /** Up to which all has come. */
  get position(): number {
    return this.#position;
  }

  /** Between two records. */
  get atBoundary(): boolean {
    return this.#headerBytes === 0;
  }

  /** The records in this chunk, which they share memory with. Throws RecordError. */
  *push(chunk: Buffer): Generator<ExecutionRecord, void, undefined> {
    for (let at = 0; at < chunk.length;) {
      if (this.#left > 0) {
        const bytes = chunk.subarray(at, at + this.#left);
        at += bytes.length;
        this.#left -= bytes.length;
        this.#position += bytes.length;
        const kind = this.#kind() === "stderr" ? "stderr" : "stdout";
        if (this.#left === 0) this.#headerBytes = 0;
        yield { kind, bytes, position: this.#position };
        continue;
      }
      const wanted = this.#headerBytes >= HEADER_BYTES ? HEADER_BYTES + DROPPED_BYTES : HEADER_BYTES;
      const copied = chunk.copy(this.#header, this.#headerBytes, at, at + wanted - this.#headerBytes);
      this.#headerBytes += copied;
      at += copied;
      if (this.#headerBytes < wanted) return;
      const dropped = this.#takeHeader();
      if (dropped !== undefined) yield dropped;
    }
  }

  #takeHeader(): ExecutionRecord | undefined {
    const kind = this.#kind();
    const length = this.#header.readUInt32LE(1);
    if (kind !== "dropped") {
      if (length === 0) throw new RecordError("a record of output is empty");
      this.#left = length;
      return undefined;
    }
    if (length !== DROPPED_BYTES) throw new RecordError("a record of dropped output has the wrong length");
    if (this.#headerBytes < HEADER_BYTES + DROPPED_BYTES) return undefined;
    const to = Number(this.#header.readBigUInt64LE(HEADER_BYTES));
    const from = this.#position;
    if (!Number.isSafeInteger(to) || to <= from)
      throw new RecordError(`output was dropped from position ${from} to ${to}`);
    this.#headerBytes = 0;
    this.#position = to;
    return { kind, from, position: to };
  }

  #kind(): (typeof kinds)[number] {
    const kind = kinds[(this.#header[0] ?? 0) - 1];
    if (kind === undefined) throw new RecordError(`there is no record of kind ${this.#header[0]}`);
    return kind;
  }
}
