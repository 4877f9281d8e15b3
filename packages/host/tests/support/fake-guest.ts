// The guest's end of an agent channel, in a test's hands: a unix socket that QEMU would offer, on which the test says exactly
// what it wants, honest or not.

import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { FrameParser, encodeFrame, encodeJson, frameTypes, type Frame } from "@skerry/contract/frames";
import { GuestChannel } from "../../src/guest/channel.ts";

/** Against hanging only. */
const WAIT_DEADLINE_MS = 10_000;

/** One connection of a host, seen from the guest. */
export class Peer {
  readonly #socket: Socket;
  readonly #parser = new FrameParser();
  readonly #frames: Frame[] = [];
  readonly closed: Promise<void>;
  #changed = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.on("error", () => undefined); // "close" follows
    socket.on("data", (chunk: Buffer) => {
      this.#frames.push(...this.#parser.push(chunk));
      this.#changed.resolve();
      this.#changed = Promise.withResolvers<void>();
    });
  }

  /** What the guest had read of a frame when the last host went away. */
  interruptedIn(partOfFrame: Buffer): void {
    this.#frames.push(...this.#parser.push(partOfFrame));
  }

  /** Resolves when the bytes have been handed to the kernel, or the host has gone. */
  send(...parts: readonly Buffer[]): Promise<void> {
    return new Promise((resolve) => this.#socket.write(Buffer.concat(parts), () => resolve()));
  }

  /** The next frame of this type; those before it are dropped. */
  async next(type: keyof typeof frameTypes): Promise<Frame> {
    const end = Date.now() + WAIT_DEADLINE_MS;
    for (;;) {
      for (let frame = this.#frames.shift(); frame !== undefined; frame = this.#frames.shift()) {
        if (frame.type === frameTypes[type]) return frame;
      }
      if (Date.now() > end) throw new Error(`the host sent no ${type} frame`);
      await within(this.#changed.promise, 1_000);
    }
  }

  /** The types of the frames that have come for this stream and were not looked at. */
  typesOf(stream: number): number[] {
    return this.#frames.filter((frame) => frame.stream === stream).map(({ type }) => type);
  }

  async answerHello(): Promise<void> {
    const { payload } = await this.next("hello");
    await this.send(encodeFrame(frameTypes.hello, 0, payload));
  }

  /** The id of the next stream that the host opens, and what it asks for. */
  async opened(): Promise<{ id: number; operation: Record<string, unknown> }> {
    const { stream, payload } = await this.next("open");
    return { id: stream, operation: JSON.parse(payload.toString()) as Record<string, unknown> };
  }

  async close(stream: number, result: unknown): Promise<void> {
    await this.send(encodeJson(frameTypes.close, stream, result));
  }

  pause(): void {
    this.#socket.pause();
  }

  hangUp(): void {
    this.#socket.destroy();
  }
}

export class FakeGuest implements AsyncDisposable {
  readonly path: string;
  readonly #folder: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #peers: Peer[] = [];
  #connected = Promise.withResolvers<void>();

  private constructor(folder: string) {
    this.#folder = folder;
    this.path = join(folder, "agent.sock");
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      this.#peers.push(new Peer(socket));
      this.#connected.resolve();
      this.#connected = Promise.withResolvers<void>();
    });
  }

  static async start(): Promise<FakeGuest> {
    const guest = new FakeGuest(await mkdtemp("/tmp/skerry-unit-guest-"));
    await new Promise<void>((ready) => guest.#server.listen(guest.path, ready));
    return guest;
  }

  /** The next connection that a host makes. */
  async peer(): Promise<Peer> {
    for (;;) {
      const peer = this.#peers.shift();
      if (peer !== undefined) return peer;
      await this.#connected.promise;
    }
  }

  /** A channel whose hello was answered, and the guest's end of it. */
  async greeted(): Promise<{ channel: GuestChannel; peer: Peer }> {
    const connecting = GuestChannel.connect(this.path, { resync: false, deadlineMs: WAIT_DEADLINE_MS });
    const peer = await this.peer();
    await peer.answerHello();
    return { channel: await connecting, peer };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Waits for the promise, but no longer than this. */
async function within(promise: Promise<void>, waitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, waitMs)));
  await Promise.race([promise, over]);
  clearTimeout(timer);
}
