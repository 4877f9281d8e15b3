// A call of the host API on its way: over the pool of connections, under a deadline, with every failure as a SkerryError and every answer
// checked.

import type { Duplex } from "node:stream";
import type { Dispatcher, Pool } from "undici";
import { SkerryError } from "@skerry/contract/errors";
import { parseTiming, SERVER_TIMING, type Timing } from "@skerry/contract/server-timing";
import type { Deadline } from "./deadline.ts";
import { hostErrorOfAnswer, hostErrorOfCall } from "./host-errors.ts";

/** Bound of every JSON answer; a directory listing of 10,000 entries is the largest. */
const JSON_MAX_BYTES = 16 * 1024 * 1024;

export interface Call {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly query?: Record<string, string | number>;
  readonly headers?: Record<string, string>;
  /** Sent as JSON. */
  readonly json?: object;
  /** Sent as it is; undefined where there is `json`, or nothing to send. */
  readonly content?: AsyncIterable<Uint8Array>;
  /** How long nothing may move. */
  readonly idleMs?: number;
  /** Told of the answer, also where it is an error, what it says of where the time went. */
  readonly onTiming?: ((timing: Timing) => void) | undefined;
}

export interface Shape<T> {
  Check(value: unknown): value is T;
}

export class HostTransport {
  readonly #pool: Pool;
  readonly #headers: () => Readonly<Record<string, string>>;

  /** `headers`: those of every call. */
  constructor(pool: Pool, headers: () => Readonly<Record<string, string>> = () => ({})) {
    this.#pool = pool;
    this.#headers = headers;
  }

  /** For an answer without a body. Takes over the deadline. */
  async done(call: Call, deadline: Deadline): Promise<void> {
    using owned = deadline;
    try {
      const answer = await this.#request(call, owned.signal);
      await answer.body.dump();
    } catch (error) {
      throw hostErrorOfCall(error, owned.signal);
    }
  }

  /** Takes over the deadline. */
  async json<T>(call: Call, shape: Shape<T>, deadline: Deadline): Promise<T> {
    using owned = deadline;
    try {
      return await readJson(await this.#request(call, owned.signal), shape);
    } catch (error) {
      throw hostErrorOfCall(error, owned.signal);
    }
  }

  /** For an answer that is read as it comes. */
  open(call: Call, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    return this.#request(call, signal).catch((error: unknown) => {
      throw hostErrorOfCall(error, signal);
    });
  }

  /** A connection of its own that speaks this protocol. */
  async upgrade(path: string, protocol: string, signal: AbortSignal): Promise<Duplex> {
    const { socket } = await this.#pool.upgrade({ path, protocol, headers: this.#headers(), signal });
    return socket;
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  async #request(call: Call, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { json, content } = call;
    const headers = { ...this.#headers(), ...call.headers };
    const answer = await this.#pool.request({
      method: call.method,
      path: call.path,
      ...(call.query === undefined ? {} : { query: call.query }),
      headers: json === undefined ? headers : { ...headers, "content-type": "application/json" },
      // The pool takes any iterable, though its types do not say so.
      body: (json === undefined ? (content ?? null) : JSON.stringify(json)) as string | null,
      signal,
      // Calls with a deadline need no other bound. A download has none, because it may take long; it may not be silent. An upload
      // ends with its client's connection, which may not be silent either.
      headersTimeout: call.idleMs ?? 0,
      bodyTimeout: call.idleMs ?? 0,
    });
    call.onTiming?.(timingOf(answer));
    if (answer.statusCode >= 400) throw await hostErrorOfAnswer(answer.statusCode, answer.body);
    return answer;
  }
}

function timingOf({ headers }: Dispatcher.ResponseData): Timing {
  const told = headers[SERVER_TIMING];
  return typeof told === "string" ? parseTiming(told) : {};
}

export async function readJson<T>(answer: Dispatcher.ResponseData, shape: Shape<T>): Promise<T> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > JSON_MAX_BYTES) throw new SkerryError("internal", "The host's answer is too long.");
    chunks.push(chunk);
  }
  let value: unknown;
  try {
    value = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    // Not JSON is not the shape either.
  }
  if (!shape.Check(value)) throw new SkerryError("internal", "The host's answer has an unexpected shape.");
  return value;
}
