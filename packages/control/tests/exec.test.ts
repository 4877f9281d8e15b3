// WebSockets at commands, with a fake host: the channels of Kubernetes' protocol, both ways of authentication, and clients that misbehave.

import { EventEmitter, once } from "node:events";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WebSocket, type ClientOptions } from "ws";
import type { OutputEvent } from "../src/host-client/execution-calls.ts";
import { runSession } from "../src/vms/exec/exec-session.ts";
import { Members } from "./support/members.ts";
import { eventually, useWorld } from "./support/world.ts";

const PROTOCOL = "v5.channel.k8s.io";

const world = useWorld();
let id: string;
const open: WebSocket[] = [];

beforeEach(async () => {
  ({ id } = await world.createSandbox({ timeout: "1h" }));
});
afterEach(() => {
  for (const socket of open.splice(0)) socket.terminate();
  world.host.executions.all.clear();
});

class Client {
  readonly socket: WebSocket;
  readonly #received: Buffer[] = [];

  constructor(
    query: string,
    { protocols = [PROTOCOL], ...options }: ClientOptions & { protocols?: string[] } = {},
  ) {
    const url = `${world.url.replace("http", "ws")}/v1/sandboxes/${id}/exec${query}`;
    this.socket = new WebSocket(url, protocols, {
      headers: { authorization: `Bearer ${world.token}` },
      ...options,
    });
    open.push(this.socket);
    this.socket.on("error", () => undefined);
    this.socket.on("message", (data: Buffer) => this.#received.push(data));
  }

  /** Resolves when it is open; rejects with the status and the code that refuse it. */
  async opened(): Promise<this> {
    const refused = new Promise<never>((_, reject) =>
      this.socket.once("unexpected-response", (_request, response) => {
        let text = "";
        response.on("data", (piece: Buffer) => (text += piece.toString()));
        response.on("end", () =>
          reject(new Error(`${response.statusCode} ${(JSON.parse(text) as { code: string }).code}`)),
        );
      }),
    );
    await Promise.race([once(this.socket, "open"), refused]);
    return this;
  }

  of(channel: number): string {
    const found = this.#received.filter((data) => data[0] === channel);
    return Buffer.concat(found.map((data) => data.subarray(1))).toString();
  }

  send(channel: number, payload: string | Buffer): void {
    this.socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(payload)]));
  }

  async closed(): Promise<number> {
    if (this.socket.readyState === WebSocket.CLOSED) return 0;
    const [code] = (await once(this.socket, "close")) as [number];
    return code;
  }
}

test("a command gets input and the size of its terminal, and its output and exit code come back", async () => {
  const client = await new Client("?command=repeat&cols=100&rows=30").opened();
  expect(client.socket.protocol).toBe(PROTOCOL);
  const execution = world.host.executions.last;
  expect(execution.command).toMatchObject({
    ...{ command: "repeat", tty: true, stdin: true, cols: 100, rows: 30, reattach_ms: 0, timeout_ms: 0 },
  });
  client.send(4, JSON.stringify({ Width: 120, Height: 40 }));
  client.send(0, "one ");
  client.send(0, "two");
  await eventually(() => client.of(1) === "one two", "it is echoed");
  expect(execution.sizes).toEqual([[120, 40]]);
  execution.write("oops", "stderr");
  client.send(255, Buffer.of(0));
  expect(await client.closed()).toBe(1000);
  expect(client.of(2)).toBe("oops");
  expect(JSON.parse(client.of(3))).toEqual({ metadata: {}, status: "Success" });
});

test("an exit code that is not zero is the cause of a failure", async () => {
  const client = await new Client("?command=repeat").opened();
  world.host.executions.last.end(7);
  await client.closed();
  expect(JSON.parse(client.of(3))).toMatchObject({
    status: "Failure",
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: "7" }] },
  });
});

test("without a command a login shell begins, and a client without a subprotocol speaks the same", async () => {
  await new Client("", { protocols: [] }).opened();
  expect(world.host.executions.last.command.command).toContain("bash -l");
});

test("a client attaches to an execution at a position, and one that only reads sends nothing", async () => {
  await new Client("?command=repeat&reattach=30s").opened();
  const execution = world.host.executions.last;
  expect(execution.command.reattach_ms).toBe(30_000);
  execution.write("abcdef");
  const second = await new Client(`?execution=${execution.id}&after=2&read_only=true`).opened();
  const third = await new Client(`?execution=${execution.id}`).opened();
  await eventually(() => second.of(1) === "cdef" && third.of(1) === "abcdef", "they read");
  second.send(0, "ignored");
  second.send(4, JSON.stringify({ Width: 1, Height: 1 }));
  third.send(0, "!");
  await eventually(() => second.of(1) === "cdef!", "only the other's input counts");
  expect([execution.sizes, execution.input.map(String)]).toEqual([[], ["!"]]);
});

test("a browser's token comes as a subprotocol, which is never chosen", async () => {
  const token = `base64url.bearer.authorization.k8s.io.${Buffer.from(world.token).toString("base64url")}`;
  const client = await new Client("?command=repeat", { headers: {}, protocols: [token, PROTOCOL] }).opened();
  expect(client.socket.protocol).toBe(PROTOCOL);
  const wrong = `base64url.bearer.authorization.k8s.io.${Buffer.from("sk_wrong").toString("base64url")}`;
  await expect(new Client("", { headers: {}, protocols: [wrong, PROTOCOL] }).opened()).rejects.toThrow(
    "401 unauthorized",
  );
});

test("what cannot begin is refused like any call, before it is a WebSocket", async () => {
  const refusals = [
    [() => new Client("", { headers: {} }), "401 unauthorized"],
    [() => new Client("?command=a&execution=b"), "400 bad_request"],
    [() => new Client("?execution=exe_none"), "404 execution_not_found"],
    [() => new Client("?cols=0"), "400 bad_request"],
    [() => new Client("", { protocols: ["v4.channel.k8s.io"] }), "400 bad_request"],
    [() => new Client("?command=reset"), "422 workdir_not_found"],
  ] as const;
  for (const [begin, refusal] of refusals) await expect(begin().opened()).rejects.toThrow(refusal);
  const plain = await world.call("GET", `/v1/sandboxes/${id}/exec`);
  expect([plain.status, plain.body["code"]]).toEqual([426, "upgrade_required"]);
  // An upgrade that a call does not take is a call like any other.
  const elsewhere = new WebSocket(`${world.url.replace("http", "ws")}/v1/sandboxes/${id}`, {
    headers: { authorization: `Bearer ${world.token}` },
  });
  elsewhere.on("error", () => undefined);
  const [, response] = (await once(elsewhere, "unexpected-response")) as [unknown, { statusCode: number }];
  expect(response.statusCode).toBe(200);
});

test("another organization's sandbox is not there, and neither is its execution", async () => {
  await new Client("?command=repeat").opened();
  const execution = world.host.executions.last.id;
  const members = new Members(world);
  const { path } = await members.newOrganization();
  const { secret } = await members.newMember("owner", path);
  for (const query of ["", `?execution=${execution}`]) {
    const headers = { authorization: `Bearer ${secret}` };
    await expect(new Client(query, { headers }).opened()).rejects.toThrow("404 sandbox_not_found");
  }
});

test("a client that leaves has the host told, and leaves one line in the log and one event in the audit log", async () => {
  const client = await new Client("?command=repeat").opened();
  const execution = world.host.executions.last;
  client.send(0, "hello");
  await eventually(() => client.of(1) === "hello", "it is echoed");
  client.socket.terminate();
  await eventually(() => execution.left === 1, "the host sees it leave");
  const path = `/v1/sandboxes/${id}/exec`;
  await eventually(() => world.log.some((line) => line["path"] === path), "it is logged");
  const lines = world.log.filter((line) => line["path"] === path);
  expect(lines).toMatchObject([{ method: "GET", status: 101 }]);
  const events = await world.call<{ items: object[] }>("GET", `/v1/audit?resource_id=${id}`);
  expect(events.body.items).toMatchObject([
    { action: "sandbox.execute", resource: { kind: "sandbox", id }, outcome: "success" },
    { action: "sandbox.create" },
  ]);
});

test("a token that is revoked ends its sessions, with the reason", async () => {
  const { body } = await world.call<{ id: string; token: string }>("POST", "/v1/auth/tokens", { body: {} });
  const headers = { "x-api-key": body.token };
  const client = await new Client("?command=repeat", { headers }).opened();
  await world.call("DELETE", `/v1/auth/tokens/${body.id}`);
  await client.closed();
  expect(JSON.parse(client.of(3))).toMatchObject({
    status: "Failure",
    details: { causes: [{ reason: "unauthorized" }] },
  });
});

test("a client that does not read stops the command's output, not the memory of the control plane", async () => {
  const before = process.memoryUsage().rss;
  const client = new Client(`?command=flood ${500 * 1024 * 1024}`);
  client.socket.pause();
  await once(client.socket, "upgrade");
  client.socket.pause();
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
});

test("messages that are too large, text, or nonsense harm nothing but their own connection", async () => {
  const nonsense = await new Client("?command=repeat").opened();
  const execution = world.host.executions.last;
  for (const payload of [
    Buffer.of(),
    Buffer.of(9, 1),
    Buffer.of(4),
    Buffer.from("\x04{}"),
    Buffer.of(255, 1),
  ])
    nonsense.socket.send(payload);
  nonsense.send(4, JSON.stringify({ Width: 1e9, Height: -1 }));
  nonsense.send(0, "fine");
  await eventually(() => nonsense.of(1) === "fine", "it goes on");
  expect(execution.sizes).toEqual([]);
  const text = await new Client("?command=repeat").opened();
  text.socket.send("text");
  expect(await text.closed()).toBe(1003);
  const large = await new Client("?command=repeat").opened();
  large.send(0, Buffer.alloc(2 * 1024 * 1024));
  expect(await large.closed()).toBe(1009);
});

test("a client whose command takes no input is not read on, however small its messages are", async () => {
  const socket = Object.assign(new EventEmitter(), { isPaused: false, readyState: 1, OPEN: 1 });
  const fake = Object.assign(socket, {
    bufferedAmount: 0,
    pause: () => (socket.isPaused = true),
    resume: () => (socket.isPaused = false),
    ...{ send: () => undefined, close: () => undefined, terminate: () => undefined },
  });
  const never = Promise.withResolvers<never>().promise;
  const last = Promise.withResolvers<OutputEvent>();
  const events = (async function* (): AsyncGenerator<OutputEvent, void> {
    yield last.promise;
  })();
  const input = { send: () => never, end: () => never, resize: () => never };
  const gone = new AbortController().signal;
  const running = runSession(fake as unknown as WebSocket, events, { input, gone });
  let taken = 0;
  while (!socket.isPaused && taken < 100_000) {
    socket.emit("message", Buffer.of(0, 1), true);
    taken += 1;
  }
  // An object of each of them is hundreds of bytes.
  expect(taken).toBeLessThan(1_000);
  last.resolve({ kind: "dropped", from: 0, position: 0 });
  await running;
  socket.emit("close");
});
