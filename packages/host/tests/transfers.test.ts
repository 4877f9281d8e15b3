// Transfers whose client takes its time while a move wants the guest.

import { once } from "node:events";
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { encodeFrame, encodeJson, frameTypes } from "@skerry/contract/frames";
import { fastify } from "fastify";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { Host } from "../src/app/host.ts";
import { registerArchives } from "../src/http/archives.ts";
import { asSkerryError } from "../src/http/conventions.ts";
import { registerFiles } from "../src/http/files.ts";
import { untilCut } from "../src/http/transfers.ts";
import { validatorCompiler } from "../src/http/validator-compiler.ts";
import { FakeGuest } from "./support/fake-guest.ts";

const server = fastify().withTypeProvider<TypeBoxTypeProvider>();
let guest: FakeGuest;
let greeted: Awaited<ReturnType<FakeGuest["greeted"]>>;
let leave: () => void;
/** Operations that a move would wait for. */
let users = 0;

beforeAll(async () => {
  guest = await FakeGuest.start();
  server.setValidatorCompiler(validatorCompiler);
  server.addContentTypeParser("application/octet-stream", (_request, _body, done) => done(null));
  server.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const known = asSkerryError(error);
    return reply.status(known.status).send(known.toBody());
  });
  const useUntilHeld = async (_id: string, _execution: string, onHeld: () => void) => {
    leave = onHeld;
    users += 1;
    return { channel: greeted.channel, [Symbol.dispose]: () => void (users -= 1) };
  };
  // More of a host is not asked for here.
  const host = { engine: { useUntilHeld } } as unknown as Host;
  registerFiles(server, host);
  registerArchives(server, host);
  await server.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  server.server.closeAllConnections();
  await server.close();
  await guest[Symbol.asyncDispose]();
});
beforeEach(async () => {
  greeted = await guest.greeted();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
  greeted.channel.close("the test is over");
});

const HELD_MS = 20_000;

function call(method: string, what: string): ClientRequest {
  const { port } = server.server.address() as AddressInfo;
  const path = `/vms/sbx_1/${what}?execution_id=e1&path=/a${method === "PUT" && what === "file" ? "&mode=420" : ""}`;
  const headers = { "content-type": "application/octet-stream", "transfer-encoding": "chunked" };
  const sent = httpRequest({
    host: "127.0.0.1",
    ...{ port, path, method },
    ...(method === "PUT" && { headers }),
  });
  sent.on("error", () => undefined); // a connection that is cut may say so after its answer
  return sent;
}

async function answerOf(sent: ClientRequest): Promise<{ status: number | undefined; code: unknown }> {
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const body = JSON.parse(await text(response)) as { readonly code?: unknown };
  return { status: response.statusCode, code: body.code };
}

test.each(["file", "archive"])(
  "an upload of a %s that is not at its end makes a move wait for 20 s and no longer",
  async (what) => {
    const sent = call("PUT", what);
    sent.write("a part");
    const { id } = await greeted.peer.opened();
    await greeted.peer.next("data");
    const answer = answerOf(sent);
    leave();
    vi.advanceTimersByTime(HELD_MS - 1);
    expect(users).toBe(1);
    vi.advanceTimersByTime(1);
    expect((await greeted.peer.next("reset")).stream).toBe(id);
    expect(await answer).toEqual({ status: 503, code: "vm_moving" });
    expect(users).toBe(0);
  },
);

test.each([
  ["file", [["head", { size: 600_000 }]]],
  ["archive", []],
] as const)("a download of a %s that is not at its end is cut off then", async (what, before) => {
  const sent = call("GET", what).end();
  const { id } = await greeted.peer.opened();
  for (const [type, value] of before) await greeted.peer.send(encodeJson(frameTypes[type], id, value));
  await greeted.peer.send(encodeFrame(frameTypes.data, id, Buffer.from("a part")));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  await once(response, "readable");
  leave();
  vi.advanceTimersByTime(HELD_MS);
  await expect(text(response)).rejects.toThrow("aborted");
  await greeted.peer.next("reset");
  await greeted.peer.send(encodeJson(frameTypes.reset, id, { code: "canceled" }));
  await expect.poll(() => users).toBe(0);
});

const LARGE_BYTES = 100_000;

test.each([
  ["of a small file in two pieces its size", 6, [3, 3], 6, 6],
  ["of an empty file its size", 0, [], 0, 0],
  ["of a large file its size", LARGE_BYTES, [60_000, 40_000], LARGE_BYTES, LARGE_BYTES],
  ["of one that has grown its former size", LARGE_BYTES, [60_000, 50_000], LARGE_BYTES, LARGE_BYTES],
  ["no size of a kernel's file that says that it is empty", 0, [5], undefined, 5],
  ["no size of one that says that it has a page", 4_096, [5], undefined, 5],
])("a download tells %s", async (...[, size, pieces, told, comes]) => {
  const sent = call("GET", "file").end();
  const { id } = await greeted.peer.opened();
  await greeted.peer.send(encodeJson(frameTypes.head, id, { size }));
  for (const bytes of pieces)
    await greeted.peer.send(encodeFrame(frameTypes.data, id, Buffer.alloc(bytes, "x")));
  await greeted.peer.close(id, {});
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect(response.headers["content-length"]).toBe(told === undefined ? undefined : String(told));
  expect(await text(response)).toHaveLength(comes);
  await expect.poll(() => users).toBe(0);
});

test("a download of a file that shrinks meanwhile is cut off", async () => {
  const sent = call("GET", "file").end();
  const { id } = await greeted.peer.opened();
  await greeted.peer.send(encodeJson(frameTypes.head, id, { size: LARGE_BYTES }));
  await greeted.peer.send(encodeFrame(frameTypes.data, id, Buffer.alloc(LARGE_BYTES / 2)));
  await greeted.peer.close(id, {});
  const whole = once(sent, "response").then(([response]) => text(response as IncomingMessage));
  await expect(whole).rejects.toThrow(/aborted|hang up/);
  await expect.poll(() => users).toBe(0);
});

test("an upload that ends within that time is whole", async () => {
  const sent = call("PUT", "file");
  sent.write("a part");
  const { id } = await greeted.peer.opened();
  const answer = answerOf(sent);
  leave();
  sent.end(" and the rest");
  await greeted.peer.next("close");
  await greeted.peer.close(id, { size: 19 });
  expect((await answer).status).toBe(200);
  expect(users).toBe(0);
});

test("of a long transfer no more is held than what is on its way", async () => {
  setFlagsFromString("--expose_gc");
  const collect = runInNewContext("gc") as () => void;
  const chunks: WeakRef<Buffer>[] = [];
  let held = 0;
  async function* upload(): AsyncGenerator<Buffer> {
    for (let count = 0; count < 200; count += 1) {
      const chunk = Buffer.alloc(1024 * 1024);
      chunks.push(new WeakRef(chunk));
      yield chunk;
    }
    await turn(); // within the turn in which it was made, a WeakRef holds its target
    collect();
    held = chunks.filter((chunk) => chunk.deref() !== undefined).length;
  }
  let bytes = 0;
  for await (const chunk of untilCut(upload(), new AbortController().signal)) bytes += chunk.length;
  expect(bytes).toBe(200 * 1024 * 1024);
  expect(held).toBeLessThan(4);
});

test("a transfer whose next piece never comes is cut at once", async () => {
  const cut = new AbortController();
  async function* upload(): AsyncGenerator<Buffer> {
    yield Buffer.from("a part");
    await new Promise(() => undefined);
  }
  const pieces = untilCut(upload(), cut.signal);
  expect((await pieces.next()).value).toEqual(Buffer.from("a part"));
  const next = pieces.next();
  cut.abort(new Error("the guest is moved"));
  await expect(next).rejects.toThrow("the guest is moved");
});

test("a transfer that is cut between two pieces ends with the next one", async () => {
  const cut = new AbortController();
  async function* upload(): AsyncGenerator<Buffer> {
    yield Buffer.from("a part");
    yield Buffer.from("another part");
  }
  const pieces = untilCut(upload(), cut.signal);
  await pieces.next();
  cut.abort(new Error("the guest is moved"));
  await expect(pieces.next()).rejects.toThrow("the guest is moved");
});
