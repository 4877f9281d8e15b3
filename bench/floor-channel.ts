// The agent channel as bare as it can be: one operation at a time, straight onto the socket. What it reaches is what the channel and
// the guest can do; what we lose on top of it is ours.

import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import {
  encodeFrame,
  encodeHeader,
  encodeHello,
  encodeJson,
  encodeWindow,
  FrameParser,
  frameTypes,
  MAX_FRAME_BYTES,
  parseJsonPayload,
  PAYLOAD_MAX_BYTES,
  WINDOW_BYTES,
  type Frame,
} from "@skerry/contract/frames";
import type { GuestOperation } from "@skerry/contract/guest-api/guest-operations";

const DEADLINE_MS = 60_000;
const FILE_MODE = 0o644;

export class FloorChannel {
  readonly #socket: Socket;
  readonly #parser = new FrameParser();
  #stream = 0;
  #hear: (frame: Frame) => void = () => undefined;
  #fail: (error: Error) => void = () => undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      for (const frame of this.#parser.push(chunk)) this.#hear(frame);
    });
    socket.once("close", () => this.#fail(new Error("the agent channel was closed")));
  }

  /** Resolves with the agent's answer. Send it before the guest runs, and it answers as soon as it does. `isInMiddle`: the guest was in the
   *  middle of another conversation. */
  async hello({ isInMiddle = false } = {}): Promise<void> {
    const padding = Buffer.alloc(isInMiddle ? MAX_FRAME_BYTES : 0);
    await this.#listen(
      (frame, done) => {
        if (frame.type === frameTypes.hello) done({});
      },
      Buffer.concat([padding, encodeHello(randomBytes(16))]),
    );
  }

  async execute(command: string): Promise<void> {
    const operation = {
      op: "execute",
      command,
      env: {},
      timeout_ms: DEADLINE_MS,
      stdin: false,
      output_limit: 1,
    } as const;
    const { exit_code: exitCode } = await this.#converse(operation, () => undefined);
    if (exitCode !== 0) throw new Error(`${command} ended with ${String(exitCode)}`);
  }

  /** Resolves with how many bytes the command has printed. */
  async print(command: string): Promise<number> {
    let bytes = 0;
    const operation = { op: "execute", command, env: {}, timeout_ms: DEADLINE_MS } as const;
    await this.#converse(
      { ...operation, stdin: false, output_limit: 0 },
      this.#granting((got) => (bytes += got)),
    );
    return bytes;
  }

  /** A connection to what listens on a port of the guest, over which one request after the other goes: each resolves with the length of
   *  the answer's body. Nothing else can be asked of this channel any more. */
  async connect(port: number): Promise<(path: string) => Promise<number>> {
    let take: (payload: Buffer) => void = () => undefined;
    const grant = this.#granting((_bytes, payload) => take(payload));
    const connected = Promise.withResolvers<void>();
    this.#converse({ op: "connect", port }, (frame) => {
      if (frame.type === frameTypes.head) connected.resolve();
      grant(frame);
    }).catch(connected.reject);
    await connected.promise;
    return async (path) => {
      const answered = Promise.withResolvers<number>();
      this.#fail = answered.reject;
      const answer = new FloorAnswer(answered.resolve);
      take = (payload) => answer.take(payload);
      const request = `GET ${path} HTTP/1.1\r\nHost: guest\r\n\r\n`;
      this.#socket.write(encodeFrame(frameTypes.data, this.#stream, Buffer.from(request)));
      return answered.promise;
    };
  }

  async upload(path: string, content: Buffer): Promise<void> {
    let credit = WINDOW_BYTES;
    let at = 0;
    const send = (): void => {
      this.#socket.cork();
      while (credit > 0 && at < content.length) {
        const length = Math.min(credit, PAYLOAD_MAX_BYTES, content.length - at);
        this.#socket.write(encodeHeader(frameTypes.data, this.#stream, length));
        this.#socket.write(content.subarray(at, at + length));
        credit -= length;
        at += length;
        if (at === content.length) this.#socket.write(encodeFrame(frameTypes.close, this.#stream));
      }
      this.#socket.uncork();
    };
    const { size } = await this.#converse(
      { op: "write", path, mode: FILE_MODE },
      ({ type, payload }) => {
        if (type !== frameTypes.window) return;
        credit += payload.readUInt32LE();
        send();
      },
      send,
    );
    if (size !== content.length) throw new Error(`${String(size)} bytes arrived`);
  }

  /** Resolves with how many bytes came. */
  async download(path: string): Promise<number> {
    let bytes = 0;
    await this.#converse(
      { op: "read", path },
      this.#granting((got) => (bytes += got)),
    );
    return bytes;
  }

  /** Counts data, and has the guest send more. */
  #granting(count: (bytes: number, payload: Buffer) => void): (frame: Frame) => void {
    let ungranted = 0;
    return ({ type, payload }) => {
      if (type !== frameTypes.data) return;
      count(payload.length, payload);
      ungranted += payload.length;
      if (ungranted < WINDOW_BYTES / 2) return;
      this.#socket.write(encodeWindow(this.#stream, ungranted));
      ungranted = 0;
    };
  }

  /** Opens a stream and resolves with the JSON that ends it. */
  #converse(
    operation: GuestOperation,
    hear: (frame: Frame) => void,
    opened: () => void = () => undefined,
  ): Promise<Readonly<Record<string, unknown>>> {
    this.#stream += 1;
    const heard = this.#listen(
      (frame, done) => {
        if (frame.type === frameTypes.close) done(parseJsonPayload(frame.payload));
        else if (frame.type === frameTypes.reset) this.#fail(new Error(frame.payload.toString("utf8")));
        else hear(frame);
      },
      encodeJson(frameTypes.open, this.#stream, operation),
    );
    opened();
    return heard;
  }

  async #listen(
    hear: (frame: Frame, done: (result: Readonly<Record<string, unknown>>) => void) => void,
    first: Buffer,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { promise, resolve, reject } = Promise.withResolvers<Readonly<Record<string, unknown>>>();
    this.#fail = reject;
    this.#hear = (frame) => hear(frame, resolve);
    const deadline = setTimeout(() => reject(new Error("the agent does not answer")), DEADLINE_MS);
    this.#socket.write(first);
    return promise.finally(() => clearTimeout(deadline));
  }
}

/** An answer that says how long it is. */
class FloorAnswer {
  readonly #done: (bytes: number) => void;
  #head = "";
  #bytes: number | undefined;

  constructor(done: (bytes: number) => void) {
    this.#done = done;
  }

  take(payload: Buffer): void {
    if (this.#bytes === undefined) {
      this.#head += payload.toString("latin1");
      const end = this.#head.indexOf("\r\n\r\n");
      if (end < 0) return;
      this.#bytes = this.#head.length - end - 4;
    } else this.#bytes += payload.length;
    const expected = Number(/^content-length: (\d+)/im.exec(this.#head)?.[1]);
    if (this.#bytes >= expected) this.#done(this.#bytes);
  }
}
