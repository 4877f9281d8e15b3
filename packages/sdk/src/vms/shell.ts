// A terminal in a microVM, over a WebSocket. The command runs in the VM and not in the connection: one that breaks is made again, and what
// was printed meanwhile follows from the position that was reached.

import { REATTACH_MAX_MS } from "@skerry/contract/bounds";
import type { SkerryApiError } from "../errors/api-errors.ts";
import { errorOfEvent, SkerryConnectionError } from "../errors/errors.ts";
import { isPassing, type Executions } from "./executions/executions.ts";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { pause } from "../http/retries.ts";
import { webSocketClass } from "#web-socket";

export interface ShellOptions extends CallOptions {
  /** Default: a login shell. */
  readonly command?: string | undefined;
  /** Default: 80 × 24. */
  readonly cols?: number | undefined;
  readonly rows?: number | undefined;
  readonly workdir?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** False: without a terminal, where stdout and stderr are apart and its input can end. Default: true. */
  readonly tty?: boolean | undefined;
  /** An execution to attach to, in the place of a new one. Its last 256 KiB of output come first. */
  readonly execution?: string | undefined;
  /** Only with `execution`: nothing is sent to it, and it does not wait for this reader. */
  readonly readOnly?: boolean | undefined;
  /** How long a broken connection is made again, in seconds, and the command lives without one: 1 to 60. Default: 60. */
  readonly reattachS?: number | undefined;
  /** Told when the connection is lost, and when it is there again. */
  readonly onConnection?: ((state: "lost" | "restored") => void) | undefined;
}

export interface ShellOutput {
  readonly type: "stdout" | "stderr";
  readonly data: Uint8Array<ArrayBuffer>;
}

const PROTOCOL = "v5.channel.k8s.io";
const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const;
const REATTACH_S = REATTACH_MAX_MS / 1_000;
/** Of the output of an execution that is attached to. */
const REPLAYED_BYTES = 256 * 1024;
const AGAIN_MS = 500;
/** Less than the largest message. */
const PIECE_BYTES = 64 * 1024;
/** Input that may wait in the connection before `write` waits. */
const UNSENT_MAX_BYTES = 256 * 1024;
const LOOK_MS = 20;
/** Output that may wait for the loop over it. The standard cannot pause a WebSocket, so beyond it the connection ends, and is made again
 *  from the same position when most of it was read. */
const UNREAD_MAX_BYTES = 8 * 1024 * 1024;
const UNREAD_AGAIN_BYTES = 1024 * 1024;
const LOGIN_SHELL = "if [ -x /bin/bash ]; then exec /bin/bash -l; else exec /bin/sh -l; fi";

interface ShellPlace {
  readonly path: string;
  readonly id: string;
  /** Where its output begins. */
  readonly position: number;
}

/** Iterate over it for its output; the loop ends when the command has ended, and then `exitCode` tells how. */
export class Shell implements AsyncIterable<ShellOutput>, AsyncDisposable {
  /** Id of its execution. */
  readonly id: string;
  readonly #http: HttpClient;
  readonly #path: string;
  readonly #options: ShellOptions;
  readonly #waiting: ShellOutput[] = [];
  #waitingBytes = 0;
  #changed = newChange();
  #socket: WebSocket | undefined;
  /** Of the next byte that comes. */
  #position: number;
  #lostMs: number | undefined;
  #size: { readonly cols: number; readonly rows: number } | undefined;
  #failure: unknown;
  #isOver = false;
  readonly #onAbort = (): void => this.close();
  /** Undefined while it runs. */
  exitCode: number | undefined;

  /** Use `shell()` of a sandbox or a machine. */
  constructor(http: HttpClient, at: ShellPlace, options: ShellOptions) {
    this.#http = http;
    this.#path = at.path;
    this.id = at.id;
    this.#options = options;
    this.#position = at.position;
    options.signal?.addEventListener("abort", this.#onAbort, { once: true });
    void this.#live().finally(() => options.signal?.removeEventListener("abort", this.#onAbort));
  }

  /** What was typed. Resolves when there is room for more; while the connection is lost it waits. */
  async write(input: string | Uint8Array): Promise<void> {
    const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
    for (let at = 0; at < bytes.length; at += PIECE_BYTES)
      await this.#send(channels.stdin, bytes.subarray(at, at + PIECE_BYTES));
  }

  /** The end of the input. A terminal goes on; there a Ctrl-D (`\x04`) is what ends it. */
  async end(): Promise<void> {
    await this.#send(channels.close, Uint8Array.of(channels.stdin));
  }

  async resize(cols: number, rows: number): Promise<void> {
    this.#size = { cols, rows };
    await this.#sendSize();
  }

  /** Lets go of the command. Without another client it ends when `reattachS` are over. */
  close(): void {
    this.#isOver = true;
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    this.#socket?.close();
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ShellOutput, void> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        this.#waitingBytes -= next.data.length;
        if (this.#waitingBytes < UNREAD_AGAIN_BYTES) this.#wake();
        yield next;
      } else if (this.#failure !== undefined) throw this.#failure;
      else if (this.#isOver) return;
      else await this.#changed.promise;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  /** Connects until the command has ended, or it has been in vain for too long. */
  async #live(): Promise<void> {
    while (!this.#isOver) {
      await this.#connect().catch((error: unknown) => this.#noteLoss(error));
      this.#wake();
      if (this.#lostMs !== undefined && !this.#isOver) await pause(AGAIN_MS, undefined);
      while (this.#waitingBytes > UNREAD_AGAIN_BYTES && !this.#isOver) await this.#changed.promise;
    }
  }

  #noteLoss(error: unknown): void {
    if (this.#isOver) return;
    const { reattachS = REATTACH_S, onConnection } = this.#options;
    const nowMs = performance.now();
    if (this.#lostMs === undefined) onConnection?.("lost");
    this.#lostMs ??= nowMs;
    if (isPassing(error) && nowMs - this.#lostMs <= reattachS * 1_000) return;
    this.#failure = error;
    this.#isOver = true;
  }

  #noteConnection(socket: WebSocket): void {
    this.#socket = socket;
    if (this.#lostMs !== undefined) this.#options.onConnection?.("restored");
    this.#lostMs = undefined;
    void this.#sendSize();
    this.#wake();
  }

  /** One connection, to its end: resolves when the command has ended. */
  async #connect(): Promise<void> {
    const query = {
      execution: this.id,
      after: String(this.#position),
      read_only: String(this.#options.readOnly === true),
    };
    const socket = await this.#http.socket(`${this.#path}/exec`, query, PROTOCOL);
    if (this.#isOver) return socket.close();
    socket.binaryType = "arraybuffer";
    return new Promise((resolve, reject) => {
      socket.addEventListener("open", () => (this.#isOver ? socket.close() : this.#noteConnection(socket)));
      socket.addEventListener("message", ({ data }) => {
        const failure = this.#take(new Uint8Array(data as ArrayBuffer));
        if (failure !== undefined) reject(failure);
      });
      socket.addEventListener("close", () => {
        this.#socket = undefined;
        const isBehind = this.#waitingBytes > UNREAD_MAX_BYTES;
        if (this.exitCode !== undefined || this.#isOver || isBehind) resolve();
        else reject(this.#lost());
      });
    });
  }

  /** What it failed with, where that is what came. */
  #take(message: Uint8Array<ArrayBuffer>): SkerryApiError | undefined {
    const data = message.subarray(1);
    if (message[0] === channels.status) return this.#takeStatus(data);
    if (message[0] !== channels.stdout && message[0] !== channels.stderr) return undefined;
    this.#position += data.length;
    this.#waitingBytes += data.length;
    if (this.#waitingBytes > UNREAD_MAX_BYTES) this.#socket?.close();
    this.#waiting.push({ type: message[0] === channels.stdout ? "stdout" : "stderr", data });
    this.#wake();
    return undefined;
  }

  #takeStatus(data: Uint8Array): SkerryApiError | undefined {
    const status = JSON.parse(new TextDecoder().decode(data)) as Status;
    const [cause] = status.details?.causes ?? [];
    if (status.status === "Success") this.exitCode = 0;
    else if (cause?.reason === "ExitCode") this.exitCode = Number(cause.message);
    else return errorOfEvent({ code: cause?.reason, message: status.message });
    this.#isOver = true;
    this.#wake();
    return undefined;
  }

  async #send(channel: number, payload: Uint8Array): Promise<void> {
    for (;;) {
      if (this.#isOver) return;
      const socket = this.#socket;
      if (socket === undefined) await this.#changed.promise;
      else if (socket.bufferedAmount <= UNSENT_MAX_BYTES) {
        const message = new Uint8Array(1 + payload.length);
        message[0] = channel;
        message.set(payload, 1);
        socket.send(message);
        return;
      }
      // The standard has no event for room.
      else await pause(LOOK_MS, undefined);
    }
  }

  async #sendSize(): Promise<void> {
    if (this.#size === undefined || this.#socket === undefined) return;
    const { cols: Width, rows: Height } = this.#size;
    await this.#send(channels.resize, new TextEncoder().encode(JSON.stringify({ Width, Height })));
  }

  #lost(): SkerryConnectionError {
    return new SkerryConnectionError(
      this.#http.baseUrl,
      `The connection to ${this.#http.baseUrl} was lost, and the command may run on.`,
    );
  }

  #wake(): void {
    const { happened } = this.#changed;
    this.#changed = newChange();
    happened();
  }
}

interface Change {
  readonly promise: Promise<void>;
  readonly happened: () => void;
}

function newChange(): Change {
  let happened = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    happened = resolve;
  });
  return { promise, happened: () => happened() };
}

interface Status {
  readonly status?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}

/** A shell in the VM at this path of the API. */
export async function openShell(
  http: HttpClient,
  path: string,
  executions: Executions,
  options: ShellOptions,
): Promise<Shell> {
  const {
    command = LOGIN_SHELL,
    tty = true,
    workdir,
    env,
    signal,
    execution,
    reattachS = REATTACH_S,
  } = options;
  const { cols = 80, rows = 24 } = options;
  await webSocketClass(); // before anything is started that could not be reached
  if (execution !== undefined) {
    const found = await executions.get(execution, { signal });
    const position = Math.max(found.kept_from, found.position - REPLAYED_BYTES);
    return new Shell(http, { path, id: found.id, position }, options);
  }
  const started = await executions.start(command, {
    ...{ tty, cols, rows, signal, stdin_open: true, reattach: `${reattachS}s` },
    ...(workdir !== undefined && { workdir }),
    ...(env !== undefined && { env: { ...env } }),
  });
  return new Shell(http, { path, id: started.id, position: 0 }, options);
}
