// One stream of the agent channel: credit both ways, output in order, exactly one end.

import {
  encodeFrame,
  encodeHeader,
  encodeWindow,
  frameTypes,
  PAYLOAD_MAX_BYTES,
  WINDOW_BYTES,
} from "@skerry/contract/frames";

export type OutputKind = "data" | "stderr";

export interface Output {
  readonly kind: OutputKind;
  readonly bytes: Buffer;
}

/** The guest answered that the operation failed. `code` is the guest's reason, and untrusted text. */
export class GuestRefusal extends Error {
  override readonly name = "GuestRefusal";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The guest broke the protocol; its channel is ended. */
export class ProtocolViolation extends Error {
  override readonly name = "ProtocolViolation";
}

export type StreamEnd =
  | { readonly ok: true; readonly result: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly error: Error };

/** Frames smaller than this are gathered into blocks, so that a guest cannot make us hold an object per
 *  byte. */
const SMALL_FRAME_BYTES = 4 * 1024;
const BLOCK_BYTES = 16 * 1024;
/** Beyond so many waiting blocks small frames join the last block of their kind, also past blocks of the
 *  other kind: a guest that alternates between the two outputs byte by byte loses their order, and cannot
 *  make us hold a block per byte. */
const ORDERED_BLOCKS_MAX = 256;

interface Block {
  readonly kind: OutputKind;
  buffer: Buffer;
  /** The unused part of the buffer takes the next small frames. */
  used: number;
}

/** Sends a frame, in one piece or as header and payload. */
type Send = (frame: Buffer, payload?: Buffer) => void;

export class GuestStream {
  readonly id: number;
  readonly #send: Send;
  readonly #blocks: Block[] = [];
  #end: StreamEnd | undefined;
  #head: Readonly<Record<string, unknown>> | undefined;
  /** Bytes that the guest may still send before it needs new credit. */
  #guestCredit = WINDOW_BYTES;
  /** Bytes that we have read and not yet granted again. */
  #ungranted = 0;
  #hostCredit = WINDOW_BYTES;
  #canceled = false;
  readonly #endsByHalves: boolean;
  #outputEnded = false;
  #changed = Promise.withResolvers<void>();

  /** `endsByHalves`: the guest may say that its output has ended before the stream has. */
  constructor(id: number, send: Send, { endsByHalves = false }: { readonly endsByHalves?: boolean } = {}) {
    this.id = id;
    this.#send = send;
    this.#endsByHalves = endsByHalves;
  }

  /** The next piece of output, or undefined after the last one. */
  async read(): Promise<Output | undefined> {
    for (;;) {
      const block = this.#blocks.shift();
      if (block !== undefined) {
        this.#grant(block.used);
        return { kind: block.kind, bytes: block.buffer.subarray(0, block.used) };
      }
      if (this.#end !== undefined || this.#outputEnded) return undefined;
      await this.#changed.promise;
    }
  }

  /** The JSON that the guest sends before the first byte, for a file its size. Undefined where the stream
   *  ended without it. */
  async head(): Promise<Readonly<Record<string, unknown>> | undefined> {
    while (this.#head === undefined && this.#end === undefined) await this.#changed.promise;
    return this.#head;
  }

  /** The JSON that ended the stream. Rejects with GuestRefusal, or with the error of the channel. */
  async result(): Promise<Readonly<Record<string, unknown>>> {
    while (this.#end === undefined) await this.#changed.promise;
    if (this.#end.ok) return this.#end.result;
    throw this.#end.error;
  }

  get ended(): boolean {
    return this.#end !== undefined;
  }

  /** Sends input as credit allows. Returns early, without error, when the guest has ended the stream: its
   *  result says why. */
  async write(bytes: Buffer): Promise<void> {
    let at = 0;
    while (at < bytes.length) {
      while (this.#hostCredit === 0 && this.#end === undefined) await this.#changed.promise;
      if (this.#end !== undefined) return;
      const length = Math.min(bytes.length - at, this.#hostCredit, PAYLOAD_MAX_BYTES);
      this.#hostCredit -= length;
      // Header and payload apart: joining them would copy every byte that is uploaded.
      this.#send(encodeHeader(frameTypes.data, this.id, length), bytes.subarray(at, at + length));
      at += length;
    }
  }

  /** End of input. */
  end(): void {
    if (this.#end === undefined) this.#send(encodeFrame(frameTypes.close, this.id));
  }

  /** Cancels: the guest kills what runs and leaves nothing. The channel still waits for the end of the
   *  stream. */
  cancel(): void {
    if (this.#canceled || this.#end !== undefined) return;
    this.#canceled = true;
    this.#blocks.length = 0;
    this.#send(encodeFrame(frameTypes.reset, this.id));
  }

  // The methods below are called by the channel only.

  receiveOutput(kind: OutputKind, payload: Buffer): void {
    if (this.#outputEnded) throw new ProtocolViolation("it sent output after its end");
    if (payload.length === 0) return this.#endOutput();
    if (payload.length > this.#guestCredit)
      throw new ProtocolViolation("it sent more than it had credit for");
    this.#guestCredit -= payload.length;
    // Data that arrives after the cancellation is dropped and gets no credit back, so a guest that goes on
    // sending runs out of credit.
    if (!this.#canceled) this.#store(kind, payload);
    this.#wake();
  }

  #endOutput(): void {
    if (!this.#endsByHalves) throw new ProtocolViolation("it sent output that is empty");
    this.#outputEnded = true;
    this.#wake();
  }

  receiveHead(head: Readonly<Record<string, unknown>>): void {
    if (this.#head !== undefined) throw new ProtocolViolation("it sent a second head");
    this.#head = head;
    this.#wake();
  }

  receiveCredit(credit: number): void {
    if (credit === 0) throw new ProtocolViolation("it granted no credit");
    this.#hostCredit += credit;
    if (this.#hostCredit > WINDOW_BYTES) throw new ProtocolViolation("it granted more credit than a window");
    this.#wake();
  }

  finish(end: StreamEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#wake();
  }

  #store(kind: OutputKind, payload: Buffer): void {
    if (payload.length >= SMALL_FRAME_BYTES) {
      this.#blocks.push({ kind, buffer: ownedBytes(payload), used: payload.length });
      return;
    }
    const last =
      this.#blocks.length < ORDERED_BLOCKS_MAX
        ? this.#blocks.at(-1)
        : this.#blocks.findLast((block) => block.kind === kind);
    if (last?.kind === kind && last.used + payload.length <= BLOCK_BYTES) append(last, payload);
    else this.#blocks.push({ kind, buffer: ownedBytes(payload), used: payload.length });
  }

  /** Credit goes back in halves of the window, so that grants are few and the guest never waits for one. */
  #grant(bytes: number): void {
    this.#ungranted += bytes;
    if (this.#ungranted < WINDOW_BYTES / 2 || this.#end !== undefined || this.#canceled) return;
    this.#guestCredit += this.#ungranted;
    this.#send(encodeWindow(this.id, this.#ungranted));
    this.#ungranted = 0;
  }

  #wake(): void {
    const changed = this.#changed;
    this.#changed = Promise.withResolvers<void>();
    changed.resolve();
  }
}

/** A payload may be a small part of a large chunk, which would be kept as long as it. */
function ownedBytes(payload: Buffer): Buffer {
  if (payload.length * 2 >= payload.buffer.byteLength) return payload;
  const own = Buffer.alloc(payload.length); // not from the shared pool
  payload.copy(own);
  return own;
}

function append(block: Block, payload: Buffer): void {
  const used = block.used + payload.length;
  if (block.buffer.length < used) {
    const grown = Buffer.alloc(Math.min(BLOCK_BYTES, used * 2));
    block.buffer.copy(grown, 0, 0, block.used);
    block.buffer = grown;
  }
  payload.copy(block.buffer, block.used);
  block.used = used;
}
