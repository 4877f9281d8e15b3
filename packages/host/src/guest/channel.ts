// The connection to one guest's agent: hello, streams, and what happens when the guest misbehaves. Every byte
// that comes in is treated as an attack: sizes are bounded, shapes are checked, and the first violation ends
// the channel.

import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import {
  encodeFrame,
  encodeHello,
  encodeJson,
  FrameError,
  FrameParser,
  frameTypes,
  HEADER_BYTES,
  HELLO_BYTES,
  MAX_FRAME_BYTES,
  parseJsonPayload,
  PAYLOAD_MAX_BYTES,
  REQUEST_MAX_BYTES,
  WINDOW_BYTES,
  type Frame,
} from "@skerry/contract/frames";
import type { GuestOperation } from "@skerry/contract/guest-api/guest-operations";
import { SkerryError } from "@skerry/contract/errors";
import { SANDBOX_MAX_STREAMS } from "@skerry/contract/bounds";
import { dialSocket } from "../system/dial-socket.ts";
import { FrameRateLimit } from "./frame-rate-limit.ts";
import { GuestRefusal, GuestStream, ProtocolViolation, type StreamEnd } from "./stream.ts";

/** The channel has ended; `message` gives the reason for the owner of the VM. */
export class ChannelClosed extends Error {
  override readonly name = "ChannelClosed";
  /** The other end closed it. Then QEMU is ending, and its own reason is more specific. */
  readonly hungUp: boolean;
  /** This host process is ending. The VM runs on, and the next process adopts it. */
  readonly isLetGo: boolean;

  constructor(
    message: string,
    {
      cause,
      hungUp = false,
      isLetGo = false,
    }: { readonly cause?: unknown; readonly hungUp?: boolean; readonly isLetGo?: boolean } = {},
  ) {
    super(message, { cause });
    this.hungUp = hungUp;
    this.isLetGo = isLetGo;
  }
}

/** Bytes of an old conversation that may be in flight before the answer to our hello: all queues on the
 *  way, generously. */
const STALE_MAX_BYTES = 16 * 1024 * 1024;
/** Bytes that may wait to be sent: the whole window of every stream, and control frames. A guest for which
 *  more bytes wait does not read. */
const UNSENT_MAX_BYTES = SANDBOX_MAX_STREAMS * WINDOW_BYTES + 16 * 1024 * 1024;
const STREAM_ID_MAX = 0xffff_ffff;

export interface ConnectOptions {
  /** The guest has talked to an earlier connection, so its parser may be anywhere. */
  readonly resync: boolean;
  readonly deadlineMs: number;
  /** Ends the attempt; changes nothing once it has succeeded. */
  readonly signal?: AbortSignal;
}

export class GuestChannel {
  readonly #socket: Socket;
  readonly #parser = new FrameParser();
  readonly #rateLimit = new FrameRateLimit(performance.now());
  readonly #streams = new Map<number, GuestStream>();
  readonly #closed = Promise.withResolvers<ChannelClosed>();
  #nextStream = 1;
  #reason: ChannelClosed | undefined;

  private constructor(socket: Socket, early: Buffer) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#receive(chunk)); // also resumes what greet() paused
    socket.resume();
    socket.once("close", () => this.#finish(hungUp()));
    this.#receive(early);
  }

  /** Connects, and resolves once the agent has answered our hello. Rejects with ChannelClosed. */
  static async connect(path: string, options: ConnectOptions): Promise<GuestChannel> {
    const deadline = AbortSignal.timeout(options.deadlineMs);
    const signal = options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline]);
    const socket = await dialSocket(path, signal).catch((error: unknown) => {
      throw new ChannelClosed("the microVM does not offer its agent channel", { cause: error });
    });
    try {
      return new GuestChannel(socket, await greet(socket, options.resync, signal));
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  /** Settles with the reason when the channel has ended. */
  get closed(): Promise<ChannelClosed> {
    return this.#closed.promise;
  }

  /** Starts an operation. Throws `sandbox_busy` where too many are under way. */
  open(operation: GuestOperation): GuestStream {
    if (this.#nextStream > STREAM_ID_MAX) this.close("the channel has used up its stream numbers");
    if (this.#reason !== undefined) throw this.#reason;
    if (this.#streams.size >= SANDBOX_MAX_STREAMS) {
      throw new SkerryError("sandbox_busy", `${SANDBOX_MAX_STREAMS} operations are under way in this VM.`, {
        remediation: "Wait for some of them to end.",
        retryAfterS: 1,
      });
    }
    const request = Buffer.from(JSON.stringify(operation));
    if (request.length > REQUEST_MAX_BYTES) {
      throw new SkerryError(
        "payload_too_large",
        `Command and environment take ${request.length} bytes together; ${REQUEST_MAX_BYTES} is the limit.`,
        { remediation: "Upload a long script as a file and execute that." },
      );
    }
    const stream = new GuestStream(this.#nextStream, (frame, payload) => this.#send(frame, payload), {
      endsByHalves: operation.op === "connect",
    });
    this.#nextStream += 1;
    this.#streams.set(stream.id, stream);
    if (request.length <= PAYLOAD_MAX_BYTES) this.#send(encodeFrame(frameTypes.open, stream.id, request));
    else this.#sendLong(stream.id, request);
    return stream;
  }

  /** All parts at once: the next operation comes behind them, and the agent takes one after the other. */
  #sendLong(stream: number, request: Buffer): void {
    const announced: GuestOperation = { op: "long", bytes: request.length };
    this.#send(encodeJson(frameTypes.open, stream, announced));
    for (let at = 0; at < request.length; at += PAYLOAD_MAX_BYTES)
      this.#send(encodeFrame(frameTypes.data, stream, request.subarray(at, at + PAYLOAD_MAX_BYTES)));
  }

  close(reason: string): void {
    this.#finish(new ChannelClosed(reason));
  }

  /** This host process is ending: operations under way are told that, and not that the guest has failed. */
  letGo(): void {
    this.#finish(new ChannelClosed("the host is stopping", { isLetGo: true }));
  }

  #finish(reason: ChannelClosed): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#socket.destroy();
    for (const stream of this.#streams.values()) stream.finish({ ok: false, error: this.#reason });
    this.#streams.clear();
    this.#closed.resolve(this.#reason);
  }

  #send(frame: Buffer, payload?: Buffer): void {
    if (payload === undefined) {
      this.#socket.write(frame);
    } else {
      this.#socket.cork();
      this.#socket.write(frame);
      this.#socket.write(payload);
      this.#socket.uncork();
    }
    if (this.#socket.writableLength > UNSENT_MAX_BYTES) this.close("the guest's agent does not read");
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#parser.push(chunk)) {
        if (this.#reason !== undefined) return;
        this.#rateLimit.count(frame.payload.length);
        this.#dispatch(frame);
      }
      this.#rateLimit.countPadding(this.#parser.takePaddingBytes());
      this.#pauseReading(this.#rateLimit.pauseMs(performance.now()));
    } catch (error) {
      if (!(error instanceof FrameError || error instanceof ProtocolViolation)) throw error;
      this.close(`the guest's agent broke the protocol: ${error.message}`);
    }
  }

  #pauseReading(pauseMs: number): void {
    if (pauseMs === 0) return;
    this.#socket.pause();
    setTimeout(() => this.#socket.resume(), pauseMs).unref();
  }

  #dispatch(frame: Frame): void {
    // The host sends none: an agent that hangs is noticed by the deadline of the operation.
    if (frame.type === frameTypes.ping) throw new ProtocolViolation("it answered no ping of ours");
    const stream = this.#streams.get(frame.stream);
    if (stream === undefined)
      throw new ProtocolViolation(`it used stream ${frame.stream}, which is not open`);
    switch (frame.type) {
      case frameTypes.data:
        return stream.receiveOutput("data", frame.payload);
      case frameTypes.stderr:
        return stream.receiveOutput("stderr", frame.payload);
      case frameTypes.head:
        return stream.receiveHead(parseJsonPayload(frame.payload));
      case frameTypes.window:
        return stream.receiveCredit(creditOf(frame.payload));
      case frameTypes.close:
        return this.#end(stream, { ok: true, result: parseJsonPayload(frame.payload) });
      case frameTypes.reset:
        return this.#end(stream, { ok: false, error: refusalOf(frame.payload) });
      case frameTypes.pad:
      case frameTypes.hello:
      case frameTypes.open:
        throw new ProtocolViolation(`it sent a frame of type ${frame.type}`);
    }
  }

  #end(stream: GuestStream, end: StreamEnd): void {
    this.#streams.delete(stream.id);
    stream.finish(end);
  }
}

function hungUp(): ChannelClosed {
  return new ChannelClosed("the guest's channel was closed", { hungUp: true });
}

function creditOf(payload: Buffer): number {
  if (payload.length !== 4) throw new ProtocolViolation("it sent a credit that is not a number");
  return payload.readUInt32LE();
}

function refusalOf(payload: Buffer): GuestRefusal {
  const { code, message } = parseJsonPayload(payload);
  return new GuestRefusal(
    typeof code === "string" ? code : "io_error",
    typeof message === "string" ? message.slice(0, 500) : "no reason given",
  );
}

/** Sends hello and reads up to its answer. Resolves with the bytes that came behind it. */
async function greet(socket: Socket, resync: boolean, signal: AbortSignal): Promise<Buffer> {
  const hello = encodeHello(randomBytes(16));
  if (resync) socket.write(Buffer.alloc(MAX_FRAME_BYTES));
  socket.write(hello);
  let seen = Buffer.alloc(0);
  let stale = 0;
  for (;;) {
    const chunk = await nextChunk(socket, signal);
    seen = Buffer.concat([seen, chunk]);
    const at = seen.indexOf(hello);
    if (at >= 0) return seen.subarray(at + HEADER_BYTES + HELLO_BYTES);
    // Keep what may be the beginning of the answer; count the rest as stale.
    const keep = Math.min(seen.length, hello.length - 1);
    stale += seen.length - keep;
    seen = Buffer.from(seen.subarray(seen.length - keep));
    if (stale > STALE_MAX_BYTES) throw new ChannelClosed("the guest's agent sends, but never answers hello");
  }
}

function nextChunk(socket: Socket, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      socket.off("data", onData).off("close", onClose);
      signal.removeEventListener("abort", onAbort);
      socket.pause();
      settle();
    };
    const onData = (chunk: Buffer): void => finish(() => resolve(chunk));
    const onClose = (): void => finish(() => reject(hungUp()));
    const onAbort = (): void => finish(() => reject(new ChannelClosed("the guest's agent does not answer")));
    socket.once("data", onData).once("close", onClose);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    else socket.resume();
  });
}
