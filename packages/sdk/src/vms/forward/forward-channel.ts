// Connections to one port of a microVM over one WebSocket, which is made when the first is wanted, and again when one is wanted after it was
// lost. `contract/src/vms/forward.ts` has the frames.

import {
  ALL_STREAMS,
  FORWARD_DATA_MAX_BYTES,
  FORWARD_PROTOCOL,
  FORWARD_WINDOW_BYTES,
  forwardMessage,
  grantOf,
  readForwardFrame,
  windowMessage,
  type ForwardFrame,
} from "@skerry/contract/vms/forward";
import { SkerryApiError } from "../../errors/api-errors.ts";
import { errorOfEvent, SkerryConnectionError } from "../../errors/errors.ts";
import type { HttpClient } from "../../http/http.ts";

/** The one end of a connection that this client has. Each of these is called at most once, `data` as often as something comes. */
export interface ForwardPeer {
  /** The guest has accepted. */
  opened(): void;
  /** `taken` is called when the bytes are out of the way; until then they count as unread. */
  data(bytes: Uint8Array, taken: () => void): void;
  /** The guest sends no more. */
  end(): void;
  /** Both directions have ended at once, and nothing follows. */
  reset(error: unknown): void;
}

/** The other end, to write to. */
export interface ForwardStream {
  /** Resolves when there is room for more, or nothing more is taken. */
  write(bytes: Uint8Array): Promise<void>;
  end(): void;
  reset(): void;
}

interface Link {
  readonly socket: WebSocket;
  readonly streams: Map<number, Stream>;
  last: number;
}

export class ForwardChannel {
  readonly #http: HttpClient;
  readonly #path: string;
  readonly #port: number;
  readonly #onOver: (error: unknown) => void;
  #link: Promise<Link> | undefined;
  #isOver = false;

  /** `path`: of the VM in the API. `onOver` is told once why there can be no more connections. */
  constructor(
    http: HttpClient,
    at: { readonly path: string; readonly port: number },
    onOver: (error: unknown) => void,
  ) {
    this.#http = http;
    this.#path = at.path;
    this.#port = at.port;
    this.#onOver = onOver;
  }

  /** Resolves when the server lets this client in. Throws `SkerryApiError` where it does not. */
  async connect(): Promise<void> {
    await this.#linked();
  }

  /** One connection more. What goes wrong is told to the peer. */
  async open(peer: ForwardPeer): Promise<ForwardStream> {
    const { socket, streams, number } = await this.#numbered().catch((error: unknown) => {
      this.#noteEnd(error);
      throw error;
    });
    const stream = new Stream(socket, number, peer, () => streams.delete(number));
    streams.set(number, stream);
    socket.send(forwardMessage("open", number));
    return stream;
  }

  /** Ends all of them. */
  close(): void {
    this.#isOver = true;
    void this.#link?.then(
      ({ socket }) => socket.close(),
      () => undefined,
    );
  }

  async #numbered(): Promise<Pick<Link, "socket" | "streams"> & { readonly number: number }> {
    const link = await this.#linked();
    link.last += 1;
    return { socket: link.socket, streams: link.streams, number: link.last };
  }

  #linked(): Promise<Link> {
    if (this.#link === undefined) {
      const link = this.#dial();
      this.#link = link;
      link.catch(() => {
        if (this.#link === link) this.#link = undefined;
      });
    }
    return this.#link;
  }

  async #dial(): Promise<Link> {
    const query = { port: String(this.#port) };
    const socket = await this.#http.socket(`${this.#path}/forward`, query, FORWARD_PROTOCOL);
    socket.binaryType = "arraybuffer";
    const link: Link = { socket, streams: new Map(), last: 0 };
    const deadline = setTimeout(() => socket.close(), CONNECT_WITHIN_MS);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener("open", () => resolve());
      socket.addEventListener("close", () => {
        this.#link = undefined;
        const lost = this.#lost();
        for (const stream of link.streams.values()) stream.lose(lost);
        reject(lost);
      });
      socket.addEventListener("message", ({ data }) => this.#take(link, new Uint8Array(data as ArrayBuffer)));
    }).catch(async () => {
      clearTimeout(deadline);
      throw await this.#refusal();
    });
    clearTimeout(deadline);
    if (this.#isOver) socket.close();
    return link;
  }

  /** Why the server did not let us in: a WebSocket of the standard does not get to read that. */
  async #refusal(): Promise<unknown> {
    try {
      const query = { port: String(this.#port) };
      await this.#http.done({ method: "GET", path: `${this.#path}/forward`, query });
    } catch (error) {
      if (!(error instanceof SkerryApiError) || error.code !== "upgrade_required") return error;
    }
    return this.#lost();
  }

  #take(link: Link, message: Uint8Array): void {
    const frame = readForwardFrame(message);
    if (frame?.stream === ALL_STREAMS) this.#end(link, frame);
    else if (frame !== undefined) link.streams.get(frame.stream)?.take(frame);
  }

  /** The server's last word. What passes by itself ends the connections, and no more than them. */
  #end({ socket, streams }: Link, { payload }: ForwardFrame): void {
    const error = errorOfPayload(payload) ?? this.#lost();
    for (const stream of streams.values()) stream.lose(error);
    socket.close();
    this.#noteEnd(error);
  }

  #noteEnd(error: unknown): void {
    if (this.#isOver || isPassing(error)) return;
    this.#isOver = true;
    this.#onOver(error);
  }

  #lost(): SkerryConnectionError {
    const { baseUrl } = this.#http;
    return new SkerryConnectionError(baseUrl, `The connection to ${baseUrl} was lost.`);
  }
}

function isPassing(error: unknown): boolean {
  if (!(error instanceof SkerryApiError)) return true;
  return error.status >= 500 || error.code === "canceled" || error.code === "rate_limited";
}

function errorOfPayload(payload: Uint8Array): SkerryApiError | undefined {
  try {
    return errorOfEvent(JSON.parse(new TextDecoder().decode(payload)));
  } catch {
    return undefined;
  }
}

/** For the server to take the WebSocket. */
const CONNECT_WITHIN_MS = 60_000;
const GRANT_BYTES = FORWARD_WINDOW_BYTES / 4;

class Stream implements ForwardStream {
  readonly #socket: WebSocket;
  readonly #number: number;
  readonly #peer: ForwardPeer;
  readonly #onOver: () => void;
  #credit = FORWARD_WINDOW_BYTES;
  #ungranted = 0;
  #hasRoom: (() => void) | undefined;
  #inputEnded = false;
  #outputEnded = false;
  #isOver = false;

  constructor(socket: WebSocket, number: number, peer: ForwardPeer, onOver: () => void) {
    this.#socket = socket;
    this.#number = number;
    this.#peer = peer;
    this.#onOver = onOver;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let rest = bytes; rest.length > 0 && !this.#isOver;) {
      if (this.#credit === 0) await this.#room();
      const piece = rest.subarray(0, Math.min(this.#credit, FORWARD_DATA_MAX_BYTES));
      if (piece.length === 0) continue;
      rest = rest.subarray(piece.length);
      this.#credit -= piece.length;
      this.#send(forwardMessage("data", this.#number, piece));
    }
    if (this.#credit === 0 && !this.#isOver) await this.#room();
  }

  end(): void {
    if (this.#inputEnded || this.#isOver) return;
    this.#inputEnded = true;
    this.#send(forwardMessage("end", this.#number));
    this.#finishIfBothEnded();
  }

  reset(): void {
    if (this.#isOver) return;
    this.#send(forwardMessage("reset", this.#number));
    this.#finish();
  }

  /** Its WebSocket has gone. */
  lose(error: unknown): void {
    if (this.#isOver) return;
    this.#finish();
    this.#peer.reset(error);
  }

  take(frame: ForwardFrame): void {
    const { type, payload } = frame;
    if (type === "opened") this.#peer.opened();
    else if (type === "data") this.#peer.data(payload, () => this.#grantBack(payload.length));
    else if (type === "window") {
      this.#credit += grantOf(frame) ?? 0;
      this.#hasRoom?.();
    } else if (type === "end") {
      this.#outputEnded = true;
      this.#peer.end();
      this.#finishIfBothEnded();
    } else if (type === "reset") this.lose(errorOfPayload(payload));
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#hasRoom = resolve;
    });
  }

  #grantBack(bytes: number): void {
    this.#ungranted += bytes;
    if (this.#isOver || this.#ungranted < GRANT_BYTES) return;
    this.#send(windowMessage(this.#number, this.#ungranted));
    this.#ungranted = 0;
  }

  #send(message: Uint8Array<ArrayBuffer>): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(message);
  }

  #finishIfBothEnded(): void {
    if (this.#inputEnded && this.#outputEnded) this.#finish();
  }

  #finish(): void {
    this.#isOver = true;
    this.#hasRoom?.();
    this.#onOver();
  }
}
