import { once } from "node:events";
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";

/** Something on the way may cut a connection on which nothing moves. */
const KEEPALIVE_MS = 15_000;

interface Event {
  readonly event: string;
  /** From which a client that comes back may say it goes on. */
  readonly id?: number | string | undefined;
  readonly data: unknown;
}

/** Server-sent events as the answer, with the headers that it has got so far, as fast as the client takes them. The framework does not
 *  send it, and forgets it. */
export class EventStream implements AsyncDisposable {
  readonly #response: ServerResponse;
  readonly #timer: NodeJS.Timeout;
  readonly #closed = new AbortController();

  /** `keepalive`: sent where nothing else is. Without it a comment is. */
  constructor(reply: FastifyReply, keepalive?: () => Event) {
    reply.hijack();
    const response = reply.raw;
    this.#response = response;
    response.writeHead(200, {
      // Those that are set on the reply are the framework's to send, which has just been told not to.
      ...definedHeaders(reply),
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    response.flushHeaders();
    response.once("close", () => this.#closed.abort());
    this.#timer = setInterval(() => {
      // A reader that is behind has something moving already.
      if (response.writableNeedDrain) return;
      response.write(keepalive === undefined ? ": keepalive\n\n" : textOf(keepalive()));
    }, KEEPALIVE_MS);
  }

  /** Resolves when the client has room for more; does nothing once it is gone. */
  async send(event: string, data: unknown, id?: number | string): Promise<void> {
    if (this.#closed.signal.aborted) return;
    if (this.#response.write(textOf({ event, data, id }))) return;
    await once(this.#response, "drain", { signal: this.#closed.signal }).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#response.end();
  }
}

function textOf({ event, id, data }: Event): string {
  return `event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}

function definedHeaders(reply: FastifyReply): OutgoingHttpHeaders {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined),
  ) as OutgoingHttpHeaders;
}
