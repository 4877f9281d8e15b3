// The host's side of the agent channel, as small as a test needs it: one conversation over one stream of bytes.
import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";

import {
  encodeFrame,
  encodeHello,
  encodeJson,
  encodeWindow,
  type Frame,
  FrameParser,
  frameTypes,
  MAX_FRAME_BYTES,
  PAYLOAD_MAX_BYTES,
  parseJsonPayload,
  WINDOW_BYTES,
} from "@skerry/contract/frames";
import type { ExecuteOperation, GuestOperation } from "@skerry/contract/guest-api/guest-operations";

const GRANT_BYTES = 64 * 1024;
const DEADLINE_MS = 30_000;

export interface Ended {
  /** True for CLOSE, false for RESET. */
  readonly done: boolean;
  readonly result: Readonly<Record<string, unknown>>;
  readonly head: Readonly<Record<string, unknown>> | undefined;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

interface Running {
  readonly stdout: Buffer[];
  readonly stderr: Buffer[];
  head: Readonly<Record<string, unknown>> | undefined;
  /** The agent has sent an empty DATA. */
  outputEnded: boolean;
  credit: number;
  owed: number;
  grants: boolean;
  readonly finish: (ended: Ended) => void;
  readonly fail: (error: Error) => void;
  wake: () => void;
}

export class Operation {
  readonly stream: number;
  readonly ended: Promise<Ended>;
  readonly #link: AgentLink;
  readonly #running: Running;

  constructor(link: AgentLink, stream: number, running: Running, ended: Promise<Ended>) {
    this.#link = link;
    this.stream = stream;
    this.#running = running;
    this.ended = ended;
  }

  /** Sends input as fast as credit allows. */
  async write(data: Buffer): Promise<void> {
    for (let at = 0; at < data.length;) {
      if (this.#link.isOver(this.stream)) return;
      const size = Math.min(PAYLOAD_MAX_BYTES, this.#running.credit, data.length - at);
      if (size === 0) {
        // oxlint-disable-next-line no-await-in-loop -- credit comes one grant after the other
        await new Promise<void>((resolve) => (this.#running.wake = resolve));
        continue;
      }
      this.#running.credit -= size;
      // oxlint-disable-next-line no-await-in-loop
      await this.#link.send(encodeFrame(frameTypes.data, this.stream, data.subarray(at, at + size)));
      at += size;
    }
  }

  close(): void {
    void this.#link.send(encodeFrame(frameTypes.close, this.stream));
  }

  cancel(): void {
    void this.#link.send(encodeFrame(frameTypes.reset, this.stream));
  }

  /** What has arrived so far. */
  get stdout(): Buffer {
    return Buffer.concat(this.#running.stdout);
  }

  get head(): Readonly<Record<string, unknown>> | undefined {
    return this.#running.head;
  }

  get outputEnded(): boolean {
    return this.#running.outputEnded;
  }

  /** Resolves when this has become true; the agent answers a ping between two looks. */
  async until(isTrue: () => boolean): Promise<void> {
    // oxlint-disable-next-line no-await-in-loop -- a wait
    while (!isTrue()) await this.#link.ping(Buffer.from("x"));
  }

  /** Lets the agent send more, for an operation that was opened with `grants: false`. */
  grant(bytes: number): void {
    void this.#link.send(encodeWindow(this.stream, bytes));
  }
}

function requestFrames(stream: number, request: Buffer): Buffer {
  if (request.length <= PAYLOAD_MAX_BYTES) return encodeFrame(frameTypes.open, stream, request);
  const frames = [encodeJson(frameTypes.open, stream, { op: "long", bytes: request.length })];
  for (let at = 0; at < request.length; at += PAYLOAD_MAX_BYTES)
    frames.push(encodeFrame(frameTypes.data, stream, request.subarray(at, at + PAYLOAD_MAX_BYTES)));
  return Buffer.concat(frames);
}

export class AgentLink {
  readonly #bytes: Duplex;
  readonly #running = new Map<number, Running>();
  readonly #pings: Array<(payload: Buffer) => void> = [];
  #parser = new FrameParser();
  #nextStream = 1;
  #waitingFor: { answer: Buffer; done: () => void } | undefined;
  #seen = Buffer.alloc(0);
  #drained: Promise<void> | undefined;

  constructor(bytes: Duplex) {
    this.#bytes = bytes;
    bytes.on("data", (chunk: Buffer) => this.#take(chunk));
    bytes.on("close", () => this.#failAll(new Error("the channel closed")));
    bytes.on("error", () => this.#failAll(new Error("the channel broke")));
  }

  /** Begins a conversation. Everything that arrives before the answer to this hello is thrown away. */
  async hello(): Promise<void> {
    const hello = encodeHello(randomBytes(16));
    this.#failAll(new Error("a new conversation began"));
    this.#nextStream = 1;
    const answered = new Promise<void>((done) => (this.#waitingFor = { answer: hello, done }));
    void this.send(Buffer.concat([Buffer.alloc(MAX_FRAME_BYTES), hello]));
    await within(answered, "the answer to a hello");
  }

  async send(bytes: Buffer): Promise<void> {
    if (this.#bytes.destroyed || this.#bytes.write(bytes)) return;
    this.#drained ??= new Promise<void>((resolve) => {
      const done = (): void => {
        this.#bytes.off("drain", done).off("close", done);
        resolve();
      };
      this.#bytes.on("drain", done).on("close", done);
    });
    await this.#drained;
    this.#drained = undefined;
  }

  isOver(stream: number): boolean {
    return !this.#running.has(stream);
  }

  open(operation: GuestOperation | Buffer, options: { grants?: boolean } = {}): Operation {
    const stream = this.#nextStream++;
    const { promise, resolve, reject } = Promise.withResolvers<Ended>();
    const running: Running = {
      stdout: [],
      stderr: [],
      head: undefined,
      outputEnded: false,
      credit: WINDOW_BYTES,
      owed: 0,
      grants: options.grants ?? true,
      finish: resolve,
      fail: reject,
      wake: () => undefined,
    };
    this.#running.set(stream, running);
    const request = Buffer.isBuffer(operation) ? operation : Buffer.from(JSON.stringify(operation));
    void this.send(requestFrames(stream, request));
    const ended = within(promise, `the end of stream ${stream}`);
    ended.catch(() => undefined); // a test need not wait for every end
    return new Operation(this, stream, running, ended);
  }

  async execute(command: string, options: Partial<ExecuteOperation> = {}): Promise<Ended> {
    return await this.open({ ...EXECUTE, command, ...options }).ended;
  }

  async write(path: string, data: Buffer, mode = 0o644): Promise<Ended> {
    const upload = this.open({ op: "write", path, mode });
    await upload.write(data);
    upload.close();
    return await upload.ended;
  }

  async read(path: string): Promise<Ended> {
    return await this.open({ op: "read", path }).ended;
  }

  async list(path: string, limit = 10_000): Promise<Ended> {
    return await this.open({ op: "list", path, limit }).ended;
  }

  async ping(payload: Buffer): Promise<Buffer> {
    const answered = new Promise<Buffer>((resolve) => this.#pings.push(resolve));
    void this.send(encodeFrame(frameTypes.ping, 0, payload));
    return await within(answered, "the answer to a ping");
  }

  #take(chunk: Buffer): void {
    let rest = chunk;
    if (this.#waitingFor !== undefined) {
      this.#seen = Buffer.concat([this.#seen, chunk]);
      const at = this.#seen.indexOf(this.#waitingFor.answer);
      if (at < 0) {
        this.#seen = Buffer.from(this.#seen.subarray(-this.#waitingFor.answer.length));
        return;
      }
      rest = this.#seen.subarray(at + this.#waitingFor.answer.length);
      this.#seen = Buffer.alloc(0);
      this.#parser = new FrameParser();
      this.#waitingFor.done();
      this.#waitingFor = undefined;
    }
    for (const frame of this.#parser.push(rest)) this.#takeFrame(frame);
  }

  #takeFrame({ type, stream, payload }: Frame): void {
    if (type === frameTypes.ping) this.#pings.shift()?.(Buffer.from(payload));
    const running = this.#running.get(stream);
    if (running === undefined) return;
    if (type === frameTypes.head) running.head = parseJsonPayload(payload);
    if (type === frameTypes.data) this.#takeOutput(stream, running, payload, running.stdout);
    if (type === frameTypes.stderr) this.#takeOutput(stream, running, payload, running.stderr);
    if (type === frameTypes.window) running.credit += payload.readUInt32LE();
    if (type === frameTypes.close || type === frameTypes.reset) {
      this.#running.delete(stream);
      running.finish({
        done: type === frameTypes.close,
        result: parseJsonPayload(payload),
        head: running.head,
        stdout: Buffer.concat(running.stdout),
        stderr: Buffer.concat(running.stderr),
      });
    }
    running.wake();
  }

  #takeOutput(stream: number, running: Running, payload: Buffer, to: Buffer[]): void {
    if (payload.length === 0) running.outputEnded = true;
    to.push(Buffer.from(payload));
    running.owed += payload.length;
    if (!running.grants || running.owed < GRANT_BYTES) return;
    void this.send(encodeWindow(stream, running.owed));
    running.owed = 0;
  }

  #failAll(error: Error): void {
    for (const [stream, running] of this.#running) {
      this.#running.delete(stream);
      running.fail(error);
      running.wake();
    }
  }
}

const EXECUTE: ExecuteOperation = {
  op: "execute",
  command: "true",
  env: {},
  timeout_ms: 20_000,
  stdin: false,
  output_limit: 0,
};

async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what} did not come in time`)), DEADLINE_MS);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
