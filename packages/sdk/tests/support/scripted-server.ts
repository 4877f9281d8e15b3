// A server that speaks the documented wire, as far as a test scripts it, on a real socket.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  readonly method: string;
  /** Path and query as they came over the wire. */
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

export type Answer = (response: ServerResponse, request: Received) => unknown;

export type Refusal = (response: ServerResponse) => void;

export class ScriptedServer implements AsyncDisposable {
  readonly received: Received[] = [];
  /** Resolves when a client closed its connection before the answer was complete. */
  readonly aborted = Promise.withResolvers<void>();
  /** Resolves when the head of a first request is here. */
  readonly begun = Promise.withResolvers<void>();
  readonly #server = createServer((request, response) => {
    // A client that breaks off in its request is an ordinary part of these tests.
    void this.#serve(request, response).catch(() => undefined);
  });
  readonly #answer: Answer;
  readonly #refuse: Refusal | undefined;

  private constructor(answer: Answer, refuse: Refusal | undefined) {
    this.#answer = answer;
    this.#refuse = refuse;
  }

  /** `refuse` answers before the body is read, where it is given. */
  static async start(answer: Answer, refuse?: Refusal): Promise<ScriptedServer> {
    const server = new ScriptedServer(answer, refuse);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get last(): Received {
    const last = this.received.at(-1);
    if (last === undefined) throw new Error("nothing was received");
    return last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("close", () => {
      if (!response.writableFinished) this.aborted.resolve();
    });
    this.begun.resolve();
    if (this.#refuse !== undefined) return this.#refuse(response);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const received = {
      method: request.method ?? "",
      url: request.url ?? "",
      headers: request.headers,
      body: Buffer.concat(chunks),
    };
    this.received.push(received);
    await this.#answer(response, received);
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", "x-request-id": "req_test", ...headers });
  response.end(JSON.stringify(body));
}

export async function allOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export function eventText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

export function output(stream: "stdout" | "stderr", data: string | Uint8Array): string {
  return eventText(stream, { data: Buffer.from(data as string).toString("base64") });
}

export const exitFields = {
  exit_code: 0,
  duration_ms: 12,
  timed_out: false,
  signal: null,
  oom_killed: false,
  truncated: false,
  usage: { cpu_ms: 3, memory_peak_bytes: 4096 },
};

export const machineInfo = {
  id: "mch_0",
  name: null,
  template: "base",
  size: "shared-cpu-1x",
  status: "running",
  desired: "running",
  env: {},
  metadata: {},
  egress: { mode: "allow_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: true },
  command: null,
  restart: { policy: "on-failure", max_retries: 10 },
  stop_timeout: "10s",
  host_id: null,
  restarts: 0,
  exit_code: null,
  created_at: "2026-11-20T16:21:09.123Z",
  started_at: "2026-11-20T16:21:09.223Z",
  stopped_at: null,
  destroyed_at: null,
  reason: null,
  restart_at: null,
};

export const sandboxInfo = {
  id: "sbx_0",
  name: null,
  template: "base",
  mode: "ephemeral",
  size: "shared-cpu-1x",
  status: "running",
  timeout: "5m",
  env: {},
  metadata: {},
  egress: { mode: "allow_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: true },
  host_id: null,
  created_at: "2026-11-20T16:21:09.123Z",
  started_at: "2026-11-20T16:21:09.223Z",
  expires_at: "2026-11-20T16:26:09.223Z",
  paused_at: null,
  snapshot_id: null,
  destroyed_at: null,
  reason: null,
};

export const egressReport = {
  mode: "deny_all",
  allow_cidrs: ["192.0.2.0/24", "203.0.113.0/24"],
  deny_cidrs: [],
  allow_ports: [443],
  dns: false,
  version: 2,
  counters: { bytes_out: 1_200, packets_out: 10, bytes_in: 34_000, packets_in: 20 },
  denied: [
    {
      address: "203.0.113.9",
      port: 25,
      protocol: "tcp",
      rule: "port",
      count: 3,
      last_at: "2026-11-20T16:22:00.000Z",
    },
    {
      address: "8.8.8.8",
      port: 0,
      protocol: "icmp",
      rule: "deny_all",
      count: 1,
      last_at: "2026-11-20T16:21:30.000Z",
    },
  ],
};
