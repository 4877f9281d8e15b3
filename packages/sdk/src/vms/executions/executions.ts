// Commands that run on when their reader goes: one sandbox's or machine's.

import { REATTACH_MAX_MS } from "@skerry/contract/bounds";
import type { Execution, ExecutionRequest } from "@skerry/contract/vms/execution";
import type { ExecutionSignal } from "@skerry/contract/vms/execution-signals";
import { commandLine, type Command } from "./command-line.ts";
import { errorOfStream, SkerryConnectionError } from "../../errors/errors.ts";
import { SkerryApiError } from "../../errors/api-errors.ts";
import { readEvents, type ServerEvent } from "../../http/event-stream.ts";
import { readExecuteEvent, type ExecuteEvent } from "./execute-events.ts";
import { keyHeader, type CallOptions, type CreateOptions, type HttpClient } from "../../http/http.ts";
import { pageQuery, type Page, type PageOptions } from "../../http/pages.ts";
import { executionPath } from "../../http/paths.ts";
import { pause } from "../../http/retries.ts";

/** `timeout` (default: none), `workdir` (default `/root`), `env`, `stdin_open`, `tty`, `cols`, `rows`, `reattach`. */
export type ExecutionOptions = Omit<ExecutionRequest, "command"> & CreateOptions;

export interface FollowOptions extends CallOptions {
  /** Where to go on: the `position` of the last event that came. Default: the first byte that is kept. */
  readonly after?: number | undefined;
  /** The command waits where this reader is slow. Without it bytes that are kept no more are skipped, and a `dropped` event says so. */
  readonly hold?: boolean | undefined;
  /** How long a broken connection is made again, in milliseconds. Default: 60,000. */
  readonly reconnectMs?: number | undefined;
}

/** A piece of output, or the end. `position` counts the bytes of stdout and stderr together up to the end of it: what `after` takes. */
export type FollowEvent = (
  | ExecuteEvent
  /** Bytes between two positions that are kept no more. */
  | { readonly type: "dropped"; readonly from: number; readonly to: number }
) & { readonly position: number };

const AGAIN_MS = 500;

/** All calls about the executions of the VM at this path of the API. */
export class Executions {
  readonly #http: HttpClient;
  readonly #vm: string;

  constructor(http: HttpClient, vm: string) {
    this.#http = http;
    this.#vm = vm;
  }

  async start(
    command: Command,
    { signal, idempotencyKey, ...rest }: ExecutionOptions = {},
  ): Promise<Execution> {
    const call = {
      method: "POST",
      path: `${this.#vm}/executions`,
      json: { command: commandLine(command), ...rest },
      creates: true,
      headers: keyHeader({ idempotencyKey }),
    } as const;
    return this.#http.json<Execution>(call, { signal });
  }

  async list(page: PageOptions = {}, options: CallOptions = {}): Promise<Page<Execution>> {
    const call = { method: "GET", path: `${this.#vm}/executions`, query: pageQuery(page) } as const;
    return this.#http.json<Page<Execution>>(call, options);
  }

  async get(id: string, options: CallOptions = {}): Promise<Execution> {
    return this.#http.json<Execution>({ method: "GET", path: executionPath(this.#vm, id) }, options);
  }

  /** The same, asked for again until a server that was restarted, or a connection that was lost, is there. */
  async reach(id: string, { reconnectMs = REATTACH_MAX_MS, signal }: FollowOptions): Promise<Execution> {
    const endMs = performance.now() + reconnectMs;
    for (;;) {
      try {
        return await this.get(id, { signal });
      } catch (error) {
        if (!isPassing(error) || performance.now() + AGAIN_MS > endMs) throw error;
      }
      await pause(AGAIN_MS, signal);
    }
  }

  async kill(
    id: string,
    signalName: ExecutionSignal = "TERM",
    options: CallOptions = {},
  ): Promise<Execution> {
    const call = {
      method: "POST",
      path: `${executionPath(this.#vm, id)}/kill`,
      json: { signal: signalName },
    } as const;
    return this.#http.json<Execution>(call, options);
  }

  /** Resolves when the command's pipe or terminal has taken all of it. */
  async send(
    id: string,
    input: string | Uint8Array<ArrayBuffer>,
    { end = false, signal }: CallOptions & { readonly end?: boolean | undefined } = {},
  ): Promise<void> {
    const call = {
      method: "POST",
      path: `${executionPath(this.#vm, id)}/stdin`,
      query: { end: String(end) },
      body: input,
      // As long as the command does not read.
      answerWithinMs: Infinity,
    } as const;
    await this.#http.done(call, { signal });
  }

  async *follow(id: string, options: FollowOptions = {}): AsyncGenerator<FollowEvent, void> {
    const { hold = false, reconnectMs = REATTACH_MAX_MS, signal } = options;
    let { after } = options;
    let lostMs: number | undefined;
    for (;;) {
      let openedMs = Infinity;
      const onOpen = () => void (openedMs = performance.now());
      try {
        for await (const event of this.#followOnce(id, { after, hold, signal }, onOpen)) {
          lostMs = undefined;
          after = event.position;
          yield event;
          if (event.type === "exit") return;
        }
      } catch (error) {
        const nowMs = performance.now();
        // A connection that has held was there again, also where the command wrote nothing.
        if (nowMs - openedMs > AGAIN_MS) lostMs = undefined;
        lostMs ??= nowMs;
        if (!isPassing(error) || nowMs - lostMs + AGAIN_MS > reconnectMs) throw error;
      }
      await pause(AGAIN_MS, signal);
    }
  }

  async *#followOnce(
    id: string,
    { after, hold, signal }: FollowOptions,
    onOpen: () => void,
  ): AsyncGenerator<FollowEvent, void> {
    const chunks = await this.#http.open(
      {
        method: "GET",
        path: `${executionPath(this.#vm, id)}/stream`,
        query: { hold: String(hold), after: after?.toString() },
        headers: { accept: "text/event-stream" },
      },
      { signal },
    );
    onOpen();
    try {
      for await (const event of readEvents(chunks)) {
        const read = readFollowEvent(event);
        if (read !== undefined) yield read;
      }
    } catch (error) {
      throw errorOfStream(error, this.#http.baseUrl);
    }
    throw new SkerryConnectionError(
      this.#http.baseUrl,
      `The connection to ${this.#http.baseUrl} ended before the command did.`,
    );
  }
}

/** Undefined for what only tells that the connection lives, and for events that a newer server may add. */
export function readFollowEvent(event: ServerEvent): FollowEvent | undefined {
  const position = Number(event.id);
  if (event.event === "dropped") {
    const { from, to } = JSON.parse(event.data) as { from: number; to: number };
    return { type: "dropped", from, to, position };
  }
  const read = readExecuteEvent(event);
  return read === undefined ? undefined : { ...read, position };
}

/** What a server that is restarted, or a host, answers meanwhile. */
export function isPassing(error: unknown): boolean {
  if (error instanceof SkerryConnectionError) return true;
  const passing = ["host_unavailable", "host_draining", "vm_moving", "shutting_down", "database_unavailable"];
  return error instanceof SkerryApiError && passing.includes(error.code);
}
