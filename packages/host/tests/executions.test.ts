// Executions through the host's own routes: the guest is in the test's hands, and says what is true or what is not.

import { once } from "node:events";
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { fastify } from "fastify";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  encodeFrame,
  encodeJson,
  FrameParser,
  frameTypes,
  parseJsonPayload,
  WINDOW_BYTES,
} from "@skerry/contract/frames";
import type { Host } from "../src/app/host.ts";
import type { GuestChannel } from "../src/guest/channel.ts";
import { registerExecutions } from "../src/http/executions.ts";
import { asSkerryError } from "../src/http/conventions.ts";
import { validatorCompiler } from "../src/http/validator-compiler.ts";
import { FakeGuest, type Peer } from "./support/fake-guest.ts";

const COMMAND = {
  execution_id: "inc_1",
  command: "cat",
  workdir: null,
  env: {},
  timeout_ms: 0,
  stdin: true,
  tty: false,
  cols: 80,
  rows: 24,
  reattach_ms: -1,
  follow: true,
};
const STATE = {
  execution: "exe_1",
  command: "cat",
  tty: false,
  stdin: true,
  timeout_ms: 0,
  reattach_ms: -1,
  ended: false,
  ...{ at: 0, from: 0, position: 0 },
  ...{ exit_code: 0, signal: 0, timed_out: false, oom_killed: false, duration_ms: 1 },
  ...{ cpu_ms: 1, memory_peak_bytes: 1 },
};

let guest: FakeGuest;
let peer: Peer;
let channel: GuestChannel;
let server: ReturnType<typeof fastify>;
let address: string;
/** What a move would call. */
let leave: () => void = () => undefined;

beforeEach(async () => {
  guest = await FakeGuest.start();
  ({ peer, channel } = await guest.greeted());
  const use = async () => ({ channel, [Symbol.dispose]: () => undefined });
  const useUntilHeld = (_id: string, _incarnation: string, left: () => void) => {
    leave = left;
    return use();
  };
  const built = fastify().withTypeProvider<TypeBoxTypeProvider>();
  server = built as unknown as ReturnType<typeof fastify>;
  built.setValidatorCompiler(validatorCompiler);
  built.addContentTypeParser("application/octet-stream", (_request, _payload, done) => done(null));
  built.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const known = asSkerryError(error);
    return reply.status(known.status).send(known.toBody());
  });
  // More of a host is not asked for here.
  registerExecutions(built, { engine: { use, useUntilHeld } } as unknown as Host);
  await built.listen({ host: "127.0.0.1", port: 0 });
  address = `http://127.0.0.1:${(built.server.address() as AddressInfo).port}/vms/sbx_1/executions`;
});

afterEach(async () => {
  server.server.closeAllConnections();
  await server.close();
  await guest[Symbol.asyncDispose]();
});

function send(method: string, path: string, body?: object): ClientRequest {
  const sent = httpRequest(`${address}${path}`, {
    method,
    headers: body === undefined ? {} : { "content-type": "application/json" },
  });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  return sent;
}

async function answerOf(sent: ClientRequest): Promise<IncomingMessage> {
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  return answer;
}

async function jsonOf(answer: IncomingMessage): Promise<Record<string, unknown>> {
  return JSON.parse((await buffer(answer)).toString()) as Record<string, unknown>;
}

const output = (after: number): ClientRequest =>
  send("GET", `/exe_1/output?execution_id=inc_1&after=${after}&hold=true`);

function record(kind: number, payload: string | Buffer): Buffer {
  const head = Buffer.alloc(5);
  head[0] = kind;
  head.writeUInt32LE(payload.length, 1);
  return Buffer.concat([head, Buffer.from(payload)]);
}

function droppedTo(position: number): Buffer {
  const payload = Buffer.alloc(8);
  payload.writeBigUInt64LE(BigInt(position));
  return record(3, payload);
}

const data = (stream: number, ...records: Buffer[]): Buffer =>
  encodeFrame(frameTypes.data, stream, Buffer.concat(records));
const head = (stream: number, state: object = {}): Buffer =>
  encodeJson(frameTypes.head, stream, { ...STATE, ...state });

test("an execution is started and followed with one call, and its records are passed on as they are", async () => {
  const sent = send("PUT", "/exe_1", COMMAND);
  const started = await peer.opened();
  const followed = await peer.opened();
  expect(started.operation).toMatchObject({ op: "start", execution: "exe_1", stdin: true, reattach_ms: -1 });
  expect(followed.operation).toMatchObject({ op: "follow", execution: "exe_1", after: 0, hold: true });
  await peer.close(started.id, STATE);
  await peer.send(head(followed.id), data(followed.id, record(1, "out"), record(2, "err")));
  await peer.send(data(followed.id, droppedTo(10)));
  await peer.close(followed.id, { ...STATE, ended: true, position: 10, exit_code: 3 });
  const frames = [...new FrameParser().push(await buffer(await answerOf(sent)))];
  expect(frames.map(({ type }) => type)).toEqual([
    frameTypes.head,
    ...frames.slice(1, -1).map(() => frameTypes.data),
    frameTypes.close,
  ]);
  expect(Buffer.concat(frames.slice(1, -1).map(({ payload }) => payload))).toEqual(
    Buffer.concat([record(1, "out"), record(2, "err"), droppedTo(10)]),
  );
  expect(parseJsonPayload(frames.at(-1)?.payload ?? Buffer.alloc(0))).toMatchObject({
    position: 10,
    exit: { exit_code: 3 },
  });
});

test("what cannot be started is an error, and no answer has begun", async () => {
  const sent = send("PUT", "/exe_1", COMMAND);
  const { id } = await peer.opened();
  const followed = await peer.opened();
  await peer.send(encodeJson(frameTypes.reset, id, { code: "workdir_not_found", message: "no" }));
  await peer.send(encodeJson(frameTypes.reset, followed.id, { code: "execution_not_found", message: "no" }));
  const answer = await answerOf(sent);
  expect(answer.statusCode).toBe(422);
  expect(await jsonOf(answer)).toMatchObject({ code: "workdir_not_found" });
});

test("a reader that goes away cancels, and one that a move ends leaves politely", async () => {
  const gone = output(0);
  gone.on("error", () => undefined);
  const first = await peer.opened();
  await peer.send(head(first.id));
  await answerOf(gone);
  gone.destroy();
  expect((await peer.next("reset")).stream).toBe(first.id);
  await peer.close(first.id, STATE);

  const moved = output(0);
  const second = await peer.opened();
  await peer.send(head(second.id), data(second.id, record(1, "so far")));
  const answer = await answerOf(moved);
  leave();
  expect((await peer.next("close")).stream).toBe(second.id);
  await peer.close(second.id, { ...STATE, position: 100 });
  const frames = [...new FrameParser().push(await buffer(answer))];
  expect(frames.at(-1)?.type).toBe(frameTypes.reset);
  expect(parseJsonPayload(frames.at(-1)?.payload ?? Buffer.alloc(0))).toMatchObject({ code: "vm_moving" });
});

test("input is passed on as fast as the guest takes it, and its refusal is told", async () => {
  const path = `${address}/exe_1/input?execution_id=inc_1&end=true`;
  const headers = { "content-type": "application/octet-stream" };
  const sent = httpRequest(path, { method: "POST", headers });
  sent.end(Buffer.alloc(WINDOW_BYTES * 3));
  const { id, operation } = await peer.opened();
  expect(operation).toEqual({ op: "input", execution: "exe_1", end: true });
  for (let bytes = 0; bytes < WINDOW_BYTES;) bytes += (await peer.next("data")).payload.length;
  await peer.send(encodeJson(frameTypes.reset, id, { code: "input_closed", message: "no more" }));
  const answer = await answerOf(sent);
  expect(answer.statusCode).toBe(409);
  expect(await jsonOf(answer)).toMatchObject({ code: "execution_input_closed" });

  const short = httpRequest(path, { method: "POST", headers });
  short.end("abc");
  const second = await peer.opened();
  expect((await peer.next("data")).payload.toString()).toBe("abc");
  await peer.next("close");
  await peer.close(second.id, {});
  expect((await answerOf(short)).statusCode).toBe(204);
});

test("signals, sizes and questions are one request each", async () => {
  const asked = [
    [send("POST", "/exe_1/signal", { execution_id: "inc_1", signal: 15 }), { op: "signal", signal: 15 }],
    [send("GET", "/exe_1?execution_id=inc_1"), { op: "execution" }],
  ] as const;
  for (const [sent, operation] of asked) {
    const opened = await peer.opened();
    expect(opened.operation).toMatchObject({ execution: "exe_1", ...operation });
    await peer.close(opened.id, { ...STATE, ended: true, signal: 15, exit_code: 143 });
    expect(await jsonOf(await answerOf(sent))).toMatchObject({ exit: { signal: "SIGTERM" } });
  }
  const resized = send("POST", "/exe_1/resize", { execution_id: "inc_1", cols: 100, rows: 30 });
  const { id, operation } = await peer.opened();
  expect(operation).toEqual({ op: "resize", execution: "exe_1", cols: 100, rows: 30 });
  await peer.close(id, STATE);
  expect(await jsonOf(await answerOf(resized))).toMatchObject({ execution: "exe_1", exit: null });
  const listed = send("GET", "?execution_id=inc_1");
  const list = await peer.opened();
  const lines = ["exe_1", "exe_2"].map((execution) => `${JSON.stringify({ ...STATE, execution })}\n`);
  await peer.send(encodeFrame(frameTypes.data, list.id, Buffer.from(lines.join(""))));
  await peer.close(list.id, {});
  expect(await jsonOf(await answerOf(listed))).toMatchObject({
    items: [{ execution: "exe_1" }, { execution: "exe_2" }],
  });
});

test("an id with a path in it meets no guest", async () => {
  for (const id of ["..%2f..%2fetc", "exe_1%00", "EXE", "x".repeat(64)]) {
    const answer = await answerOf(send("GET", `/${id}?execution_id=inc_1`));
    expect(answer.statusCode).toBe(400);
    await buffer(answer);
  }
});

const lies: readonly (readonly [what: string, after: number, lie: (id: number) => Buffer[]])[] = [
  ["begins elsewhere", 5, (id) => [head(id, { at: 4, position: 9 })]],
  ["begins past the end", 0, (id) => [head(id, { at: 0, from: 5, position: 4 })]],
  ["tells of another execution", 0, (id) => [head(id, { execution: "exe_2" })]],
  ["goes back", 20, (id) => [head(id, { at: 20, position: 20 }), data(id, droppedTo(20))]],
  ["sends an empty record", 0, (id) => [head(id), data(id, record(1, ""))]],
  ["sends a record of no kind", 0, (id) => [head(id), data(id, record(4, "x"))]],
  ["sends error output bare", 0, (id) => [head(id), encodeFrame(frameTypes.stderr, id, Buffer.from("x"))]],
  [
    "counts more than it sent",
    0,
    (id) => [
      head(id),
      data(id, record(1, "abc")),
      encodeJson(frameTypes.close, id, { ...STATE, ended: true, position: 4 }),
    ],
  ],
  [
    "ends in the middle of a record",
    0,
    (id) => [
      head(id),
      data(id, record(1, "abc").subarray(0, 7)),
      encodeJson(frameTypes.close, id, { ...STATE, ended: true, position: 2 }),
    ],
  ],
];

for (const [what, after, lie] of lies)
  test(`a guest whose execution ${what} is ended, with a reason`, async () => {
    const sent = output(after);
    const { id } = await peer.opened();
    await peer.send(...lie(id));
    const answer = await answerOf(sent);
    expect((await buffer(answer)).toString()).toContain("guest_failed");
    expect((await channel.closed).message).toMatch(/^the guest's agent broke the protocol: /);
  });

test("a guest that lists more than it may, or nonsense, is ended", async () => {
  const listed = send("GET", "?execution_id=inc_1");
  const { id } = await peer.opened();
  await peer.send(encodeFrame(frameTypes.data, id, Buffer.from("no object\n")));
  await peer.close(id, {});
  expect(await jsonOf(await answerOf(listed))).toMatchObject({ code: "guest_failed" });
  expect((await channel.closed).message).toContain("list of executions");
});
