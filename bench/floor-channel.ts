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
    let ungranted = 0;
    await this.#converse({ op: "read", path }, ({ type, payload }) => {
      if (type !== frameTypes.data) return;
      bytes += payload.length;
      ungranted += payload.length;
      if (ungranted < WINDOW_BYTES / 2) return;
      this.#socket.write(encodeWindow(this.#stream, ungranted));
      ungranted = 0;
    });
    return bytes;
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
