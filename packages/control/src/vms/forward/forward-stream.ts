// One connection of a forward: between a stream of its WebSocket and a connection to the guest.

import type { WebSocket } from "ws";
import {
  FORWARD_DATA_MAX_BYTES,
  FORWARD_WINDOW_BYTES,
  forwardMessage,
  windowMessage,
} from "@skerry/contract/vms/forward";
import { toSkerryError } from "../../http/errors.ts";
import type { PortConnection } from "../../host-client/port-connection.ts";
import type { ForwardTarget } from "./forward-target.ts";

const GRANT_BYTES = FORWARD_WINDOW_BYTES / 4;
/** More credit than any client has use for. */
const CREDIT_MAX_BYTES = 2 ** 31;
/** Bytes of all connections that may wait for the client, beside what the WebSocket's own connection holds. */
const UNSENT_MAX_BYTES = 1024 * 1024;

export class ForwardStream {
  readonly #socket: WebSocket;
  readonly #number: number;
  readonly #onEnd: () => void;
  readonly #left = new AbortController();
  readonly #connected: Promise<PortConnection>;
  /** What the client may send, and what it may be sent, in bytes. */
  #clientCredit = FORWARD_WINDOW_BYTES;
  #credit = FORWARD_WINDOW_BYTES;
  #ungranted = 0;
  readonly #unwritten = new GatheredBytes();
  #isWriting = false;
  #inputEnded = false;
  #isOver = false;
  #hasSettled = false;
  #hasRoom: (() => void) | undefined;

  constructor(socket: WebSocket, number: number, target: ForwardTarget, onEnd: () => void) {
    this.#socket = socket;
    this.#number = number;
    this.#onEnd = onEnd;
    this.#connected = target.connect(this.#left.signal).finally(() => (this.#hasSettled = true));
    void this.#run(target);
  }

  /** False where the client sends what it may not. */
  take(payload: Uint8Array): boolean {
    if (this.#isOver) return true;
    if (this.#inputEnded || payload.length === 0 || payload.length > this.#clientCredit) return false;
    this.#clientCredit -= payload.length;
    this.#unwritten.push(payload);
    void this.#writeOn();
    return true;
  }

  takeEnd(): boolean {
    if (this.#isOver) return true;
    if (this.#inputEnded) return false;
    this.#inputEnded = true;
    void this.#writeOn();
    return true;
  }

  /** One write after the other, each of all that has come meanwhile. */
  async #writeOn(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    try {
      const connection = await this.#connected;
      while (this.#unwritten.length > 0) {
        const piece = this.#unwritten.takeAll();
        await written(connection, piece);
        this.#grantBack(piece.length);
      }
      if (this.#inputEnded) connection.end();
    } catch {
      return; // `#run` has the reason
    }
    this.#isWriting = false;
  }

  grant(bytes: number | undefined): boolean {
    if (bytes === undefined || this.#credit + bytes > CREDIT_MAX_BYTES) return false;
    this.#credit += bytes;
    this.#hasRoom?.();
    return true;
  }

  /** Ends it at once. The client is not told: it has done so itself, or has gone. */
  reset(): void {
    this.#finish();
    this.#left.abort();
    void this.#connected.then(
      (connection) => connection.destroy(),
      () => undefined,
    );
  }

  async #run(target: ForwardTarget): Promise<void> {
    try {
      const connection = await this.#connected;
      const closed = new Promise<void>((resolve, reject) => {
        connection.once("error", reject);
        connection.once("close", resolve);
      });
      closed.catch(() => undefined);
      this.#send(forwardMessage("opened", this.#number));
      await this.#passOutput(connection);
      this.#send(forwardMessage("end", this.#number));
      await closed;
      this.#finish();
    } catch (error) {
      if (this.#isOver) return;
      const known = toSkerryError(await target.lost(error));
      if (this.#isOver) return;
      this.#send(forwardMessage("reset", this.#number, Buffer.from(JSON.stringify(known.toBody()))));
      this.reset();
    }
  }

  /** What comes from the guest, to its end, no faster than the client takes it. */
  async #passOutput(connection: PortConnection): Promise<void> {
    for await (const chunk of connection.iterator({ destroyOnReturn: false })) {
      for (let rest = chunk as Buffer; rest.length > 0;) {
        while (this.#credit === 0 && !this.#isOver) await this.#room();
        if (this.#isOver) return;
        const piece = rest.subarray(0, Math.min(this.#credit, FORWARD_DATA_MAX_BYTES));
        rest = rest.subarray(piece.length);
        this.#credit -= piece.length;
        await this.#sendData(piece);
      }
    }
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#hasRoom = resolve;
    });
  }

  async #sendData(piece: Buffer): Promise<void> {
    const message = forwardMessage("data", this.#number, piece);
    const sent = new Promise<void>((resolve) => this.#socket.send(message, () => resolve()));
    if (this.#socket.bufferedAmount > UNSENT_MAX_BYTES) await sent;
  }

  #send(message: Uint8Array): void {
    if (!this.#isOver && this.#socket.readyState === this.#socket.OPEN)
      this.#socket.send(message, () => undefined);
  }

  /** The guest's host has taken them. */
  #grantBack(bytes: number): void {
    this.#ungranted += bytes;
    if (this.#ungranted < GRANT_BYTES) return;
    this.#clientCredit += this.#ungranted;
    this.#send(windowMessage(this.#number, this.#ungranted));
    this.#ungranted = 0;
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#hasRoom?.();
    // What is being connected counts as one of those that the client may have.
    if (this.#hasSettled) this.#onEnd();
    else void this.#connected.then(this.#onEnd, this.#onEnd);
  }
}

function written(connection: PortConnection, piece: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.write(piece, (error) => (error == null ? resolve() : reject(error)));
  });
}

/** Pieces in one buffer, so that a run of single bytes costs no object each. */
class GatheredBytes {
  #buffer: Buffer = Buffer.alloc(0);
  length = 0;

  push(piece: Uint8Array): void {
    const length = this.length + piece.length;
    if (length > this.#buffer.length) {
      const grown = Buffer.alloc(Math.max(length, 2 * this.length));
      this.#buffer.copy(grown, 0, 0, this.length);
      this.#buffer = grown;
    }
    this.#buffer.set(piece, this.length);
    this.length = length;
  }

  takeAll(): Buffer {
    const all = this.#buffer.subarray(0, this.length);
    this.#buffer = Buffer.alloc(0);
    this.length = 0;
    return all;
  }
}
