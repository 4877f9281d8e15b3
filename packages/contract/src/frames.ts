// The wire between a host and the agent in its guest, and between control and a host where an answer is a
// stream. One virtio-serial port carries many streams; the C side is `packages/guest/src/frames.c`, and
// `packages/guest/tests/golden-frames.json` binds both.
//
//   frame = u8 type · u32 length · u32 stream · payload[length]      little-endian, length ≤ 64 KiB
//
// The port has no notion of a connection, so a reader may start in the middle of a frame whose end never
// comes. That is why the type comes first and why type 0 is one byte of padding without a header: a run of
// MAX_FRAME_BYTES zeros, wherever it begins, brings every parser back to the start of a frame. A new
// conversation is that run, then HELLO with a fresh nonce; the other side answers with the same HELLO, and
// everything before that answer belongs to the old conversation and is discarded.
//
// The host opens streams (numbers rise, none is used twice in a conversation). A request that one frame does
// not hold comes in parts: OPEN announces how long it is (LongOperation), DATA frames that cost no credit
// bring it, and then the stream is what it asks for. After OPEN the guest ends each stream exactly once, with
// CLOSE (done, JSON result) or RESET (failed, JSON `{code, message}`). The host may send CLOSE (end of input)
// and RESET (cancel). DATA and STDERR cost credit: each side may send WINDOW_BYTES per stream and more only
// as WINDOW frames grant it, so that one slow reader never blocks another. A connection to a port can end in
// one direction alone: then the guest sends an empty DATA, which breaks the protocol on every other stream.

export const frameTypes = {
  pad: 0,
  hello: 1,
  open: 2,
  data: 3,
  stderr: 4,
  head: 5,
  window: 6,
  close: 7,
  reset: 8,
  ping: 9,
} as const;

export type FrameType = (typeof frameTypes)[keyof typeof frameTypes];

export const HEADER_BYTES = 9;
export const PAYLOAD_MAX_BYTES = 64 * 1024;
export const MAX_FRAME_BYTES = HEADER_BYTES + PAYLOAD_MAX_BYTES;
/** Credit that each side of a stream begins with, in bytes. */
export const WINDOW_BYTES = 256 * 1024;
export const PROTOCOL_VERSION = 1;
/** Longest JSON of a request to the agent; `guest/src/operations.h` has the same. */
export const REQUEST_MAX_BYTES = 256 * 1024;

/** `SKRY` · u32 version · 16 bytes nonce. */
export const HELLO_BYTES = 24;
const HELLO_MAGIC = Buffer.from("SKRY");

export interface Frame {
  readonly type: FrameType;
  readonly stream: number;
  readonly payload: Buffer;
}

/** The peer broke the protocol. Nothing that follows on this connection can be trusted. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}

const EMPTY = Buffer.alloc(0);
const LAST_TYPE = frameTypes.ping;

export function encodeHeader(type: FrameType, stream: number, payloadBytes: number): Buffer {
  if (payloadBytes > PAYLOAD_MAX_BYTES)
    throw new FrameError(`a payload of ${payloadBytes} bytes is too long`);
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header[0] = type;
  header.writeUInt32LE(payloadBytes, 1);
  header.writeUInt32LE(stream, 5);
  return header;
}

export function encodeFrame(type: FrameType, stream: number, payload: Buffer = EMPTY): Buffer {
  return Buffer.concat([encodeHeader(type, stream, payload.length), payload]);
}

export function encodeJson(type: FrameType, stream: number, value: unknown): Buffer {
  return encodeFrame(type, stream, Buffer.from(JSON.stringify(value)));
}

export function encodeHello(nonce: Buffer): Buffer {
  const payload = Buffer.alloc(HELLO_BYTES);
  HELLO_MAGIC.copy(payload);
  payload.writeUInt32LE(PROTOCOL_VERSION, 4);
  nonce.copy(payload, 8, 0, 16);
  return encodeFrame(frameTypes.hello, 0, payload);
}

export function encodeWindow(stream: number, credit: number): Buffer {
  const payload = Buffer.allocUnsafe(4);
  payload.writeUInt32LE(credit);
  return encodeFrame(frameTypes.window, stream, payload);
}

/** Cuts a byte stream into frames. Holds at most one frame; a payload may share memory with the chunk it
 *  came in. */
export class FrameParser {
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  #payload: Buffer | undefined;
  #payloadBytes = 0;
  #paddingBytes = 0;

  /** The frames that this chunk completes. Throws FrameError at the first byte that cannot belong to one. */
  *push(chunk: Buffer): Generator<Frame, void, undefined> {
    let at = 0;
    while (at < chunk.length) {
      if (this.#headerBytes < HEADER_BYTES) {
        at = this.#takeHeader(chunk, at);
        if (this.#headerBytes < HEADER_BYTES) return;
        if (this.#length() === 0) yield this.#finish(EMPTY);
        continue;
      }
      const missing = this.#length() - this.#payloadBytes;
      if (this.#payload === undefined && chunk.length - at >= missing) {
        const payload = chunk.subarray(at, at + missing);
        at += missing;
        yield this.#finish(payload);
        continue;
      }
      this.#payload ??= Buffer.allocUnsafe(this.#length());
      const copied = chunk.copy(this.#payload, this.#payloadBytes, at, at + missing);
      this.#payloadBytes += copied;
      at += copied;
      if (copied === missing) yield this.#finish(this.#payload);
    }
  }

  /** True between two frames: a connection that ends elsewhere was cut off. */
  get atBoundary(): boolean {
    return this.#headerBytes === 0;
  }

  /** How much padding has come since this was asked last. */
  takePaddingBytes(): number {
    const bytes = this.#paddingBytes;
    this.#paddingBytes = 0;
    return bytes;
  }

  #takeHeader(chunk: Buffer, from: number): number {
    let at = from;
    if (this.#headerBytes === 0) {
      while (at < chunk.length && chunk[at] === frameTypes.pad) at += 1;
      this.#paddingBytes += at - from;
      if (at === chunk.length) return at;
      const type = chunk[at] ?? 0;
      if (type > LAST_TYPE) throw new FrameError(`frame type ${type} does not exist`);
    }
    const copied = chunk.copy(this.#header, this.#headerBytes, at, at + HEADER_BYTES - this.#headerBytes);
    this.#headerBytes += copied;
    if (this.#headerBytes === HEADER_BYTES && this.#length() > PAYLOAD_MAX_BYTES) {
      throw new FrameError(`a frame of ${this.#length()} bytes is longer than ${PAYLOAD_MAX_BYTES}`);
    }
    return at + copied;
  }

  #length(): number {
    return this.#header.readUInt32LE(1);
  }

  #finish(payload: Buffer): Frame {
    const frame = {
      // takeHeader let no other value pass.
      type: this.#header[0] as FrameType,
      stream: this.#header.readUInt32LE(5),
      payload,
    };
    this.#headerBytes = 0;
    this.#payload = undefined;
    this.#payloadBytes = 0;
    return frame;
  }
}

/** A JSON payload as an object, or FrameError. Bytes that are not UTF-8 become U+FFFD. */
export function parseJsonPayload(payload: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(payload.toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Readonly<Record<string, unknown>>;
    }
  } catch {
    // Falls through to the one error for everything that is not an object.
  }
  throw new FrameError("a control payload is not a JSON object");
}
