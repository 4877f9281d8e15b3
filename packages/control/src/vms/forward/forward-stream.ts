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
import type { ForwardTarget } from "./forward-session.ts";

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
  #inputEnded = false;
  #isOver = false;
  #hasRoom: (() => void) | undefined;

  constructor(socket: WebSocket, number: number, target: ForwardTarget, onEnd: () => void) {
    this.#socket = socket;
    this.#number = number;
    this.#onEnd = onEnd;
    this.#connected = target.connect(this.#left.signal);
    void this.#run(target);
  }

  /** False where the client sends what it may not. */
  take(payload: Uint8Array): boolean {
    if (this.#inputEnded || payload.length > this.#clientCredit) return false;
    this.#clientCredit -= payload.length;
    // In the order in which they were asked for.
    void this.#connected.then(
      (connection) => connection.write(payload, (error) => this.#grantBack(error, payload.length)),
      () => undefined,
    );
    return true;
  }

  takeEnd(): boolean {
    if (this.#inputEnded) return false;
    this.#inputEnded = true;
    void this.#connected.then(
      (connection) => connection.end(),
      () => undefined,
    );
    return true;
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
  #grantBack(error: Error | null | undefined, bytes: number): void {
    if (error != null) return;
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
    this.#onEnd();
  }
}
