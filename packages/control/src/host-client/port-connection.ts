// A connection to a port of a guest, over one to its host: `contract/src/host-api/ports.ts` has the frames. Each direction ends alone, and one
// that was cut off is an error and never looks like an end.

import { once } from "node:events";
import { Duplex } from "node:stream";
import { errorFromBody, SkerryError } from "@skerry/contract/errors";
import {
  encodeFrame,
  encodeHeader,
  encodeWindow,
  FrameError,
  FrameParser,
  frameTypes,
  PAYLOAD_MAX_BYTES,
  parseJsonPayload,
  WINDOW_BYTES,
  type Frame,
} from "@skerry/contract/frames";

/** Each connection carries one stream. */
const STREAM = 1;

/** For what the guest has not read when the connection has ended. */
const LAST_BYTES_MS = 60_000;

const LINGER_MS = 1_000;

/** The connection was there, and ended before both directions had. */
export class PortConnectionLost extends SkerryError {
  constructor(message: string, cause?: unknown) {
    super("guest_failed", message, { cause });
  }
}

export class PortConnection extends Duplex {
  readonly #socket: Duplex;
  readonly #parser = new FrameParser();
  readonly #connected = Promise.withResolvers<void>();
  readonly #grants: boolean;
  #isConnected = false;
  /** Bytes that the host takes before it grants more. It is the only buffer of this connection. */
  #credit = WINDOW_BYTES;
  #unsent: Buffer = Buffer.alloc(0);
  #sent: ((error?: Error | null) => void) | undefined;
  #inputEnded = false;

  /** `grants`: this is the host's end of it, which needs no credit. */
  constructor(socket: Duplex, { grants = false }: { readonly grants?: boolean } = {}) {
    super({ allowHalfOpen: true });
    this.#grants = grants;
    if (grants) this.#credit = Infinity;
    this.#socket = socket;
    this.#connected.promise.catch(() => undefined);
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("error", () => undefined); // "close" follows
    for (const event of ["end", "close"]) {
      socket.once(event, () => {
        if (!this.#bothEnded) this.destroy(new PortConnectionLost("The connection to the port was cut off."));
      });
    }
  }

  /** Resolves when the host has connected. Rejects with the host's reason, and where `signal` aborts. */
  async connected(signal: AbortSignal): Promise<void> {
    const aborted = once(signal, "abort").then(() => {
      throw signal.reason;
    });
    aborted.catch(() => undefined);
    if (signal.aborted) throw signal.reason;
    await Promise.race([this.#connected.promise, aborted]);
  }

  /** What node's HTTP client calls when it needs the connection no more. The guest, which has been told so, mostly ends it first. */
  destroySoon(): void {
    if (!this.writableEnded) this.end();
    setTimeout(() => this.destroy(), LINGER_MS).unref();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#unsent = chunk;
    this.#sent = done;
    this.#send();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.write(encodeFrame(frameTypes.close, STREAM));
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#connected.reject(error ?? new PortConnectionLost("The connection to the port was given up."));
    if (!this.#bothEnded) this.#socket.destroy();
    else this.#leaveToHost();
    done(error);
  }

  /** As much of what is to be written as there is credit for. */
  #send(): void {
    this.#socket.cork();
    while (this.#unsent.length > 0 && this.#credit > 0) {
      const payload = this.#unsent.subarray(0, Math.min(this.#credit, PAYLOAD_MAX_BYTES));
      this.#unsent = this.#unsent.subarray(payload.length);
      this.#credit -= payload.length;
      this.#socket.write(encodeHeader(frameTypes.data, STREAM, payload.length));
      this.#socket.write(payload);
    }
    this.#socket.uncork();
    if (this.#unsent.length > 0) return;
    const sent = this.#sent;
    this.#sent = undefined;
    // Without credit to wait for, it is the connection below that says when there is room.
    if (this.#grants && this.#socket.writableNeedDrain) this.#socket.once("drain", () => sent?.());
    else sent?.();
  }

  get #bothEnded(): boolean {
    return this.#inputEnded && this.writableFinished;
  }

  /** The host closes when the guest has everything: a close of ours would mean that we have left before. */
  #leaveToHost(): void {
    this.#socket.resume();
    const timer = setTimeout(() => this.#socket.destroy(), LAST_BYTES_MS).unref();
    this.#socket.once("close", () => clearTimeout(timer));
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#parser.push(chunk)) this.#take(frame);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.destroy(new SkerryError("guest_failed", "The host broke its protocol.", { cause: error }));
    }
  }

  #take({ type, payload }: Frame): void {
    if (this.destroyed) return;
    if (type === frameTypes.head) {
      this.#isConnected = true;
      this.#connected.resolve();
    } else if (type === frameTypes.data) {
      if (!this.push(payload)) this.#socket.pause();
      if (this.#grants) this.#socket.write(encodeWindow(STREAM, payload.length));
    } else if (type === frameTypes.window && payload.length === 4) {
      this.#credit += payload.readUInt32LE();
      this.#send();
    } else if (type === frameTypes.close && !this.#inputEnded) {
      this.#inputEnded = true;
      this.push(null);
    } else if (type === frameTypes.reset) {
      const told = errorFromBody(parseJsonPayload(payload), "The connection to the port was reset.");
      this.destroy(this.#isConnected ? new PortConnectionLost(told.message, told) : told);
    }
  }
}
