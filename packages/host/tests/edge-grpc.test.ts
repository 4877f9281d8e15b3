// gRPC through a real HAProxy: the client and the server of `@grpc/grpc-js`, with calls of each kind.

import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  status,
  type MethodDefinition,
  type ServiceError,
} from "@grpc/grpc-js";
import { afterAll, expect, test } from "vitest";
import type { EdgeInstance } from "@skerry/contract/host-api/edge";
import { until } from "./support/edge-instances.ts";
import { edge, listen, nextVersion } from "./support/edge-rig.ts";

const bytes = (value: Buffer): Buffer => value;
const method = (name: string, requestStream: boolean, responseStream: boolean) =>
  ({
    ...{ path: `/test.Talk/${name}`, requestStream, responseStream },
    ...{ requestSerialize: bytes, requestDeserialize: bytes },
    ...{ responseSerialize: bytes, responseDeserialize: bytes },
  }) satisfies MethodDefinition<Buffer, Buffer>;
const talk = {
  say: method("Say", false, false),
  count: method("Count", false, true),
  sum: method("Sum", true, false),
  echo: method("Echo", true, true),
};

const servers: Server[] = [];
const clients: Client[] = [];
afterAll(() => {
  for (const client of clients) client.close();
  for (const server of servers) server.forceShutdown();
});

/** Calls of `Say` that ask for it wait until they are let go. */
const held: (() => void)[] = [];

async function instance(vm: string): Promise<EdgeInstance> {
  const server = new Server();
  server.addService(talk, {
    say(call: { request: Buffer }, done: (error: Partial<ServiceError> | null, answer?: Buffer) => void) {
      const text = call.request.toString();
      const trailers = new Metadata();
      trailers.set("vm", vm);
      if (text === "fail")
        return done({ code: status.NOT_FOUND, details: "no such word", metadata: trailers });
      const answer = () =>
        done(null, call.request.length > 1_000 ? call.request : Buffer.from(`${vm} ${text}`));
      if (text === "wait") held.push(answer);
      else if (text !== "never") answer();
    },
    count(call: { request: Buffer; write(piece: Buffer): void; end(): void }) {
      for (let n = 1; n <= Number(call.request.toString()); n += 1) call.write(Buffer.from(String(n)));
      call.end();
    },
    sum(call: AsyncIterable<Buffer>, done: (error: null, answer: Buffer) => void) {
      void (async () => {
        let sum = 0;
        for await (const piece of call) sum += Number(piece.toString());
        done(null, Buffer.from(String(sum)));
      })();
    },
    echo(call: AsyncIterable<Buffer> & { write(piece: Buffer): void; end(): void }) {
      void (async () => {
        for await (const piece of call) call.write(Buffer.from(`${vm} ${piece.toString()}`));
        call.end();
      })();
    },
  });
  servers.push(server);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { vm, execution_id: "exe_1", port, state: "serving" };
}

const serve = (...instances: readonly EdgeInstance[]) =>
  edge.apply({
    version: nextVersion(),
    backends: [{ id: "talk", protocol: "h2", instances: [...instances] }],
    routes: [{ host: "talk.test", path_prefix: "/", backend: "talk" }],
  });

function newClient(authority = "talk.test"): Client {
  const options = { "grpc.default_authority": authority, "grpc.enable_retries": 0 };
  const client = new Client(listen, credentials.createInsecure(), options);
  clients.push(client);
  return client;
}

const say = (client: Client, what: string | Buffer, deadlineMs = 60_000) =>
  new Promise<Buffer>((resolve, reject) => {
    const { path } = talk.say;
    const options = { deadline: Date.now() + deadlineMs };
    client.makeUnaryRequest(path, bytes, bytes, Buffer.from(what), options, (error, answer) =>
      error === null && answer !== undefined ? resolve(answer) : reject(error ?? new Error("no answer")),
    );
  });

test("calls of each kind are answered, and a message of three megabytes", async () => {
  await serve(await instance("one"));
  const client = newClient();
  expect((await say(client, "hello")).toString()).toBe("one hello");
  const large = Buffer.alloc(3 * 1024 * 1024, "x");
  expect((await say(client, large)).equals(large)).toBe(true);
  const numbers: string[] = [];
  for await (const piece of client.makeServerStreamRequest(talk.count.path, bytes, bytes, Buffer.from("500")))
    numbers.push(String(piece));
  expect(numbers).toEqual(Array.from({ length: 500 }, (_, n) => String(n + 1)));
  const sum = await new Promise<Buffer | undefined>((resolve, reject) => {
    const call = client.makeClientStreamRequest<Buffer, Buffer>(
      talk.sum.path,
      bytes,
      bytes,
      (error, answer) => (error === null ? resolve(answer) : reject(error)),
    );
    for (let n = 1; n <= 100; n += 1) call.write(Buffer.from(String(n)));
    call.end();
  });
  expect(sum?.toString()).toBe("5050");
  const both = client.makeBidiStreamRequest<Buffer, Buffer>(talk.echo.path, bytes, bytes);
  const answers = both[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  for (const word of ["a", "b", "c"]) {
    // Each one is sent only when the one before was answered.
    both.write(Buffer.from(word));
    expect(String((await answers.next()).value)).toBe(`one ${word}`);
  }
  both.end();
  expect((await answers.next()).done).toBe(true);
});

test("errors come with their code, words and trailers, and a deadline ends a call", async () => {
  await serve(await instance("one"));
  const client = newClient();
  const error = await say(client, "fail").catch((thrown: ServiceError) => thrown);
  expect(error).toMatchObject({ code: status.NOT_FOUND, details: "no such word" });
  expect((error as ServiceError).metadata.get("vm")).toEqual(["one"]);
  await expect(say(client, "never", 200)).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
  expect((await say(client, "after it")).toString()).toBe("one after it");
});

test("a name that no app has, and an app without an instance, are errors of gRPC", async () => {
  await serve();
  // The answer comes before all of the call is sent: a client may notice either of them first.
  const codes = expect.toBeOneOf([status.UNIMPLEMENTED, status.UNAVAILABLE]) as number;
  await expect(say(newClient("none.test"), "hello")).rejects.toMatchObject({ code: codes });
  await expect(say(newClient(), "hello")).rejects.toMatchObject({ code: status.UNAVAILABLE });
});

test("a client's one connection follows to the next release, and a call that is under way ends where it began", async () => {
  const [old, next] = [await instance("old"), await instance("next")];
  await serve(old);
  const client = newClient();
  expect((await say(client, "hello")).toString()).toBe("old hello");
  const waiting = say(client, "wait");
  await until("it is under way", async () => held.length === 1);
  await serve({ ...old, state: "draining" }, next);
  expect((await say(client, "hello")).toString()).toBe("next hello");
  held.splice(0).forEach((go) => go());
  expect((await waiting).toString()).toBe("old wait");
  await serve(next);
  expect((await say(client, "again")).toString()).toBe("next again");
});
