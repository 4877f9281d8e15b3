// One HTTP call: address, headers, deadline, every failure as a named error, and a second try where that is safe.

import { parseTiming, SERVER_TIMING, type Timing } from "@skerry/contract/server-timing";
import { errorOfResponse, SkerryConnectionError, SkerryInputError } from "../errors/errors.ts";
import { pause, pauseBeforeRetry, RETRIES_DEFAULT } from "./retries.ts";
import type { HttpRequest } from "./http-request.ts";
import { rootMessage } from "./connection-words.ts";
import { findSettings, tokenRemedy } from "#saved-settings";
import { webSocketClass } from "#web-socket";

export interface SkerryOptions {
  /**
   * Address of the server, for example `http://127.0.0.1:7070`. A path prefix is kept. Default in Node: `SKERRY_API_URL`, then the saved
   * settings, then `http://127.0.0.1:7070`.
   */
  readonly baseUrl?: string | undefined;
  /**
   * API token, `sk_…`. Default in Node: `SKERRY_API_TOKEN`, then the one that `skerry auth login` or `skerry up` has saved for this server.
   * Null: none, which is enough for `health()`.
   */
  readonly token?: string | null | undefined;
  /** Id of the organization to work in. Default: the token's own. Where no token is given, Node's `SKERRY_ORG_ID` and the saved settings can name one. */
  readonly organization?: string | undefined;
  /** How often a call that is safe to repeat is sent again after a broken connection or a passing refusal. Default: 2; 0: never. */
  readonly retries?: number | undefined;
  /** Told before each pause after which a call is sent again. What it throws ends the call. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** A call that failed and is about to be sent again. */
export interface Retry {
  /** What it failed with: a `SkerryConnectionError`, or a `SkerryApiError` such as `host_unavailable` or `rate_limited`. */
  readonly error: unknown;
  /** Until it is sent again, in milliseconds. */
  readonly waitMs: number;
  /** How often it has been sent so far. */
  readonly attempts: number;
}

export interface CallOptions {
  /** Ends the call; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface TimedOptions extends CallOptions {
  /**
   * Told where the server's time went, in milliseconds, when its answer begins, also that of an error: `place` (choosing a host), `freeze`
   * (the first use of a size had its template frozen on that host), `start` (making the VM, or taking the command into it).
   */
  readonly onTiming?: ((timing: Timing) => void) | undefined;
}

export interface CreateOptions extends TimedOptions {
  /** 1 to 255 printable ASCII characters without spaces. The same one creates nothing a second time, for 24 h. Default: a random one. */
  readonly idempotencyKey?: string | undefined;
}

/** The header of a creation whose caller has chosen its key. */
export function keyHeader({ idempotencyKey }: CreateOptions): Readonly<Record<string, string>> {
  return idempotencyKey === undefined
    ? {}
    : { "idempotency-key": checkedHeader("idempotency key", idempotencyKey) };
}

/** For calls that do little: no answer after this is a fault. */
const ANSWER_WITHIN_MS = 60_000;

/** Longest JSON that is taken: several times the longest that the server has. */
const JSON_MAX_BYTES = 64 * 1024 * 1024;

/** Longest silence within an answer, in milliseconds. The server breaks its own silence every 15 s. */
const SILENCE_MAX_MS = 60_000;

export class HttpClient {
  readonly baseUrl: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: typeof globalThis.fetch;
  readonly #retries: number;
  readonly #onRetry: SkerryOptions["onRetry"];

  constructor(options: SkerryOptions) {
    const { baseUrl, token, organization } = completed(options);
    this.baseUrl = checkedBaseUrl(baseUrl);
    this.#headers = {
      ...(token === null ? {} : { authorization: `Bearer ${checkedHeader("token", token)}` }),
      ...(organization === undefined ? {} : { "x-org-id": checkedHeader("organization", organization) }),
    };
    this.#retries = options.retries ?? RETRIES_DEFAULT;
    this.#onRetry = options.onRetry;
    // Wrapped, because browsers refuse a `fetch` that is called as a method of something else.
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** The JSON of the answer. The type is the contract's word for it; the client does not validate. */
  async json<Answer>(request: HttpRequest, options: TimedOptions = {}): Promise<Answer> {
    const bytes = await collect(this.#bounded(await this.open(request, options)));
    try {
      return JSON.parse(new TextDecoder().decode(bytes)) as Answer;
    } catch (cause) {
      throw this.#broken("the answer is not JSON", cause);
    }
  }

  /** A WebSocket at this path. It has no headers, so the token goes as a subprotocol, which is never chosen; without one the browser sends a cookie. */
  async socket(path: string, query: NonNullable<HttpRequest["query"]>, protocol: string): Promise<WebSocket> {
    const Socket = await webSocketClass();
    const { authorization, "x-org-id": organization } = this.#headers;
    const token = authorization?.replace(/^Bearer /, "") ?? "";
    const encoded = btoa(token).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    const url = this.#url({ method: "GET", path, query }).replace(/^http/, "ws");
    const socket = new Socket(url, [
      protocol,
      ...(authorization === undefined ? [] : [`base64url.bearer.authorization.k8s.io.${encoded}`]),
      ...(organization === undefined ? [] : [`organization.skerry.${organization}`]),
    ]);
    // "close" follows, and says all there is to know. The socket of `ws` ends the process where nothing
    // listens, also when it is closed before it is open.
    socket.addEventListener("error", () => undefined);
    return socket;
  }

  /** For answers without a body that matters. */
  async done(request: HttpRequest, options: CallOptions = {}): Promise<void> {
    for await (const _ of await this.open(request, options));
  }

  /**
   * Sends the request and gives the body's chunks once the server accepted it. Leaving the loop over them early
   * closes the connection.
   */
  async open(request: HttpRequest, options: TimedOptions = {}): Promise<AsyncGenerator<Uint8Array, void>> {
    const sent = request.creates === true ? withKey(request) : request;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#openOnce(sent, options);
      } catch (error) {
        const waitMs = attempt > this.#retries ? undefined : pauseBeforeRetry(sent, error, attempt);
        if (waitMs === undefined) throw error;
        this.#onRetry?.({ error, waitMs, attempts: attempt });
        await pause(waitMs, options.signal);
      }
    }
  }

  async #openOnce(request: HttpRequest, options: TimedOptions): Promise<AsyncGenerator<Uint8Array, void>> {
    options.signal?.throwIfAborted();
    const call = new Call(options.signal);
    const withinMs = request.answerWithinMs ?? ANSWER_WITHIN_MS;
    call.expectWithin(withinMs, () => this.#broken(`no answer within ${withinMs / 1_000} s`));
    try {
      const response = await this.#fetch(this.#url(request), this.#init(request, call.signal));
      options.onTiming?.(parseTiming(response.headers.get(SERVER_TIMING)));
      if (!response.ok) throw await errorOfResponse(response, this.baseUrl);
      call.expectNothing();
      return this.#chunks(response, call);
    } catch (error) {
      call.end();
      throw this.#named(error, call, "Cannot reach");
    }
  }

  async *#chunks(response: Response, call: Call): AsyncGenerator<Uint8Array, void> {
    const reader = response.body?.getReader();
    let finished = false;
    try {
      while (reader !== undefined && !finished) {
        call.expectWithin(SILENCE_MAX_MS, () => this.#broken(`nothing came for ${SILENCE_MAX_MS / 1_000} s`));
        const { done, value } = await reader.read();
        // The clock measures the server's silence, not how long the reader of these chunks takes.
        call.expectNothing();
        finished = done;
        if (value !== undefined) yield value;
      }
    } catch (error) {
      throw this.#named(error, call, "Lost the connection to");
    } finally {
      if (!finished) call.abort();
      call.end();
    }
  }

  async *#bounded(chunks: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > JSON_MAX_BYTES)
        throw this.#broken(`the answer is longer than ${JSON_MAX_BYTES / 1024 / 1024} MiB`);
      yield chunk;
    }
  }

  #url(request: HttpRequest): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(request.query ?? {}))
      if (value !== undefined) query.append(name, String(value));
    const search = query.toString();
    return this.baseUrl + request.path + (search === "" ? "" : `?${search}`);
  }

  #init(request: HttpRequest, signal: AbortSignal): RequestInit {
    const hasJson = request.json !== undefined;
    return {
      method: request.method,
      // A redirect would turn a POST into a GET, or carry the token to another place.
      redirect: "error",
      signal,
      headers: {
        accept: "application/json",
        ...this.#headers,
        ...(hasJson ? { "content-type": "application/json" } : {}),
        ...request.headers,
      },
      ...(hasJson ? { body: JSON.stringify(request.json) } : {}),
      // Streaming bodies must say `half`; for the others it changes nothing.
      ...(request.body == null ? {} : { body: request.body, duplex: "half" }),
    };
  }

  #broken(what: string, cause?: unknown): SkerryConnectionError {
    return new SkerryConnectionError(this.baseUrl, `Trouble with Skerry at ${this.baseUrl}: ${what}.`, cause);
  }

  /** Fetch reports a refused connection, a reset and an abort alike; the caller needs to know which it was. */
  #named(error: unknown, call: Call, what: string): unknown {
    if (call.signal.aborted) return call.signal.reason;
    if (!(error instanceof TypeError)) return error;
    // What was being sent could not be read: nothing is wrong with the connection.
    const unreadable = [error, error.cause].find((one) => one instanceof SkerryInputError);
    if (unreadable !== undefined) return unreadable;
    return new SkerryConnectionError(
      this.baseUrl,
      `${what} Skerry at ${this.baseUrl} (${rootMessage(error)}).`,
      error,
    );
  }
}

/** The same key for every try. */
function withKey(request: HttpRequest): HttpRequest {
  return { ...request, headers: { "idempotency-key": crypto.randomUUID(), ...request.headers } };
}

/** Ties a call to the caller's signal and to its deadlines, and lets go of both at the end. */
class Call {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #onAbort: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(outer: AbortSignal | undefined) {
    // Not AbortSignal.any: with a signal that outlives the call it leaks (nodejs/node#54614).
    this.#outer = outer;
    this.#onAbort = () => this.#controller.abort(outer?.reason);
    outer?.addEventListener("abort", this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(): void {
    this.#controller.abort();
  }

  expectWithin(ms: number, reason: () => Error): void {
    clearTimeout(this.#timer);
    if (ms === Infinity) return;
    this.#timer = setTimeout(() => this.#controller.abort(reason()), ms);
  }

  expectNothing(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#onAbort);
  }
}

/** All chunks as one array. */
export async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return concat(parts);
}

export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

interface Completed {
  readonly baseUrl: string | undefined;
  readonly token: string | null;
  readonly organization: string | undefined;
}

/** What is given, with the settings of this machine for the rest. Here, before any request, it is known that there is no token. */
function completed({ baseUrl, token, organization }: SkerryOptions): Completed {
  // Nothing is looked for where nothing is missing: what is saved cannot get in the way.
  if (baseUrl !== undefined && token !== undefined) return { baseUrl, token, organization };
  const found = findSettings({ baseUrl, token: token ?? undefined, organization });
  // An organization that was chosen for another token says nothing about this one.
  if (token !== undefined) return { baseUrl: found.baseUrl, token, organization };
  if (found.token !== undefined) return { ...found, token: found.token };
  const where = found.baseUrl === undefined ? "" : ` for ${found.baseUrl}`;
  throw new SkerryInputError(`There is no API token${where}.`, tokenRemedy, "no_token");
}

function checkedBaseUrl(text: string | undefined): string {
  if (text === undefined)
    throw new SkerryInputError("There is no address.", "Give `baseUrl`, such as https://skerry.example.org.");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new SkerryInputError(
      `"${text}" is not an http or https address.`,
      "Give one such as http://127.0.0.1:7070.",
    );
  if (url.username !== "" || url.password !== "")
    throw new SkerryInputError(
      "The address must not hold a user name or password.",
      "Leave them out; `token` goes apart.",
    );
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** The value itself is not repeated: it may be a secret. */
function checkedHeader(name: string, value: string): string {
  if (!/^[\x21-\x7e]+$/.test(value))
    throw new SkerryInputError(
      `The ${name} is empty or holds spaces or characters outside ASCII.`,
      "Give it as it was shown, without quotes or line breaks around it.",
    );
  return value;
}
