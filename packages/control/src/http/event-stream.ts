import { once } from "node:events";
import type { ServerResponse } from "node:http";

/** Something on the way may cut a connection on which nothing moves; a comment moves. */
const KEEPALIVE_MS = 15_000;

/** Server-sent events on a response, as fast as the client takes them. */
export class EventStream implements AsyncDisposable {
  readonly #response: ServerResponse;
  readonly #timer: NodeJS.Timeout;
  readonly #closed = new AbortController();

  constructor(response: ServerResponse) {
    this.#response = response;
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    response.flushHeaders();
    response.once("close", () => this.#closed.abort());
    this.#timer = setInterval(() => {
      // A reader that is behind has something moving already.
      if (!response.writableNeedDrain) response.write(": keepalive\n\n");
    }, KEEPALIVE_MS);
  }

  /** Resolves when the client has room for more; does nothing once it is gone. */
  async send(event: string, data: unknown): Promise<void> {
    if (this.#closed.signal.aborted) return;
    if (this.#response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)) return;
    await once(this.#response, "drain", { signal: this.#closed.signal }).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#response.end();
  }
}
