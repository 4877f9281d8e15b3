// A client at a command, through a WebSocket. Neither side is read faster than the other takes it: a client that does not read has the
// command wait, and one that sends more than the command reads is not read.

import type { WebSocket } from "ws";
import type { SkerryError } from "@skerry/contract/errors";
import type { OutputEvent } from "../../host-client/execution-calls.ts";
import { toSkerryError } from "../../http/errors.ts";
import { errorStatus, exitStatus, message, readMessage } from "./channels.ts";

/** Bytes that may wait for a client, beside what the connection itself holds. */
const UNSENT_MAX_BYTES = 256 * 1024;
/** Bytes of input that may wait for the command; beyond it the client is not read. */
const UNTAKEN_MAX_BYTES = 256 * 1024;
/** What holding one message takes beside its bytes. */
const MESSAGE_BYTES = 512;
/** Something on the way may cut a connection on which nothing moves. */
const PING_MS = 15_000;
/** What a client that reads gets to see before its connection is cut. */
const LAST_WORD_MS = 500;

export interface CommandInput {
  send(bytes: Buffer): Promise<void>;
  end(): Promise<void>;
  resize(cols: number, rows: number): Promise<void>;
}

/** Resolves when the command has ended or the client has gone. `input`: undefined for a client that only reads. `gone` aborts with a
 *  SkerryError when it must end. */
export async function runSession(
  socket: WebSocket,
  events: AsyncGenerator<OutputEvent>,
  { input, gone }: { readonly input: CommandInput | undefined; readonly gone: AbortSignal },
): Promise<void> {
  const session = new Session(socket, input);
  try {
    for await (const event of events) {
      if (event.kind === "exit") session.status(exitStatus(event.state.exit?.exit_code ?? 0));
      else if (event.kind === "stdout" || event.kind === "stderr")
        await session.output(event.kind, event.bytes);
      if (session.failure !== undefined) throw session.failure;
    }
    session.close(1000);
  } catch (error) {
    const known = toSkerryError(gone.aborted ? gone.reason : error);
    session.status(errorStatus(known.toBody(), known.status));
    session.close(known.code === "canceled" ? 1000 : 1011);
  }
}

class Session {
  readonly #socket: WebSocket;
  readonly #input: CommandInput | undefined;
  readonly #pinging: NodeJS.Timeout;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #ends = false;
  #size: { readonly cols: number; readonly rows: number } | undefined;
  #isSending = false;
  /** Why its input could not be passed on. */
  failure: SkerryError | undefined;

  constructor(socket: WebSocket, input: CommandInput | undefined) {
    this.#socket = socket;
    this.#input = input;
    socket.on("error", () => undefined); // "close" follows
    socket.on("message", (data: Buffer, isBinary: boolean) => this.#take(data, isBinary));
    this.#pinging = setInterval(() => {
      // A client that is behind has something moving already.
      if (socket.bufferedAmount === 0) socket.ping();
    }, PING_MS);
    socket.once("close", () => clearInterval(this.#pinging));
  }

  /** Resolves when the client has room for more, or has gone. */
  async output(kind: "stdout" | "stderr", bytes: Buffer): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    const sent = new Promise<void>((resolve) =>
      this.#socket.send(message(kind, bytes), { binary: true }, () => resolve()),
    );
    if (this.#socket.bufferedAmount > UNSENT_MAX_BYTES) await sent;
  }

  status(status: object): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.send(
      message("status", Buffer.from(JSON.stringify(status))),
      { binary: true },
      () => undefined,
    );
  }

  close(code: number): void {
    clearInterval(this.#pinging);
    this.#socket.close(code);
    const cut = setTimeout(
      () => this.#socket.terminate(),
      this.#socket.bufferedAmount > 0 ? 10 * LAST_WORD_MS : LAST_WORD_MS,
    );
    this.#socket.once("close", () => clearTimeout(cut));
  }

  #take(data: Buffer, isBinary: boolean): void {
    if (!isBinary) {
      this.#socket.close(1003, "messages are binary");
      return;
    }
    const asked = readMessage(data);
    if (asked === undefined || this.#input === undefined || this.#ends) return;
    if (asked.kind === "resize") this.#size = asked;
    else if (asked.kind === "end") this.#ends = true;
    else {
      this.#waiting.push(asked.bytes);
      this.#waitingBytes += MESSAGE_BYTES + asked.bytes.length;
      if (this.#waitingBytes > UNTAKEN_MAX_BYTES) this.#socket.pause();
    }
    if (!this.#isSending) void this.#passOn(this.#input);
  }

  /** One call after the other, each with all that has come meanwhile: input keeps its order. */
  async #passOn(input: CommandInput): Promise<void> {
    this.#isSending = true;
    try {
      for (;;) {
        const size = this.#size;
        this.#size = undefined;
        if (size !== undefined) await input.resize(size.cols, size.rows);
        const bytes = Buffer.concat(this.#waiting);
        this.#waiting = [];
        this.#waitingBytes = 0;
        this.#socket.resume();
        if (bytes.length > 0) await input.send(bytes);
        else if (this.#ends) return await input.end();
        else if (this.#size === undefined) break;
      }
      this.#isSending = false;
    } catch (error) {
      const known = toSkerryError(error);
      // It reads no more, which is its own affair: what else is sent to it is dropped, as by a pipe.
      if (["execution_input_closed", "canceled"].includes(known.code)) return;
      this.failure = known;
      this.status(errorStatus(known.toBody(), known.status));
      this.close(1011);
    }
  }
}
