// A client with connections to a port, through a WebSocket. What each connection may send is bounded by its own credit, so the WebSocket is
// always read, and one that is slow holds up no other.

import type { WebSocket } from "ws";
import { SkerryError } from "@skerry/contract/errors";
import {
  ALL_STREAMS,
  FORWARD_STREAMS_MAX,
  forwardMessage,
  grantOf,
  readForwardFrame,
  type ForwardFrame,
} from "@skerry/contract/vms/forward";
import { toSkerryError } from "../../http/errors.ts";
import { ForwardStream } from "./forward-stream.ts";
import type { ForwardTarget } from "./forward-target.ts";

/** Something on the way may cut a connection on which nothing moves; and a client that does not answer has gone. */
const PING_MS = 15_000;
/** What a client that reads gets to see before its connection is cut. */
const LAST_WORD_MS = 500;
/** Pings in which a client neither answers nor takes anything of what waits for it: two minutes. */
const UNANSWERED_MAX = 8;
/** More than all connections together may have waiting for a client: the rest is answers to what it sends while it does not read. */
const UNSENT_MAX_BYTES = 16 * 1024 * 1024;

/** Resolves when the client has gone, or was told why it must. */
export async function runForward(socket: WebSocket, target: ForwardTarget): Promise<void> {
  const session = new Session(socket, target);
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.once("close", resolve);
  const onEnd = (): void => session.end(target.ended.reason);
  target.ended.addEventListener("abort", onEnd, { once: true });
  if (target.ended.aborted) onEnd();
  await promise;
  target.ended.removeEventListener("abort", onEnd);
  session.release();
}

class Session {
  readonly #socket: WebSocket;
  readonly #target: ForwardTarget;
  readonly #streams = new Map<number, ForwardStream>();
  readonly #pinging: NodeJS.Timeout;
  #last = 0;
  #hasAnswered = true;
  #unanswered = 0;
  #unsentBytes = 0;
  #isEnding = false;

  constructor(socket: WebSocket, target: ForwardTarget) {
    this.#socket = socket;
    this.#target = target;
    socket.on("error", () => undefined); // "close" follows
    socket.on("message", (data: Buffer, isBinary: boolean) => this.#take(data, isBinary));
    socket.on("pong", () => (this.#hasAnswered = true));
    this.#pinging = setInterval(() => this.#ping(), PING_MS);
  }

  /** Tells the client why, and closes. */
  end(reason: unknown): void {
    const known = toSkerryError(reason);
    const body = Buffer.from(JSON.stringify(known.toBody()));
    if (this.#socket.readyState === this.#socket.OPEN)
      this.#socket.send(forwardMessage("reset", ALL_STREAMS, body), () => undefined);
    this.#close(known.code === "canceled" ? 1000 : 1011);
  }

  release(): void {
    clearInterval(this.#pinging);
    for (const stream of this.#streams.values()) stream.reset();
    this.#streams.clear();
  }

  #ping(): void {
    const { bufferedAmount } = this.#socket;
    const isThere = this.#hasAnswered || bufferedAmount < this.#unsentBytes;
    this.#unanswered = isThere ? 0 : this.#unanswered + 1;
    this.#unsentBytes = bufferedAmount;
    // What waits for a client that is slow waits before the ping.
    if (this.#unanswered >= (bufferedAmount === 0 ? 1 : UNANSWERED_MAX)) return this.#socket.terminate();
    this.#hasAnswered = false;
    this.#socket.ping();
  }

  #close(code: number): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.release();
    this.#socket.close(code);
    const cut = setTimeout(() => this.#socket.terminate(), LAST_WORD_MS);
    this.#socket.once("close", () => clearTimeout(cut));
  }

  #take(data: Buffer, isBinary: boolean): void {
    if (this.#isEnding) return;
    if (this.#socket.bufferedAmount > UNSENT_MAX_BYTES) return this.#socket.terminate();
    const frame = isBinary ? readForwardFrame(data) : undefined;
    if (frame === undefined || !this.#passOn(frame)) this.#breach();
  }

  /** False where the client breaks the protocol. */
  #passOn(frame: ForwardFrame): boolean {
    const { type, stream: number } = frame;
    if (type === "opened") return false;
    if (type === "open") return this.#open(number);
    if (number > this.#last) return false;
    // Of one that has ended here, something may be on its way.
    const stream = this.#streams.get(number);
    if (stream === undefined) return true;
    if (type === "data") return stream.take(frame.payload);
    if (type === "window") return stream.grant(grantOf(frame));
    if (type === "end") return stream.takeEnd();
    stream.reset();
    return true;
  }

  #open(number: number): boolean {
    if (number <= this.#last) return false;
    this.#last = number;
    if (this.#streams.size >= FORWARD_STREAMS_MAX) {
      const busy = new SkerryError("sandbox_busy", `${FORWARD_STREAMS_MAX} connections are open.`, {
        remediation: "Close some of them.",
        retryAfterS: 1,
      });
      this.#socket.send(forwardMessage("reset", number, Buffer.from(JSON.stringify(busy.toBody()))));
      return true;
    }
    const stream = new ForwardStream(this.#socket, number, this.#target, () => this.#streams.delete(number));
    this.#streams.set(number, stream);
    return true;
  }

  #breach(): void {
    this.end(
      new SkerryError("bad_request", "The client does not keep to the protocol of forwards.", {
        remediation: "Use a client of the server's version.",
      }),
    );
  }
}
