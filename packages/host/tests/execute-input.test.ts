// Commands that read input, through the host's own route: the guest is in the test's hands.

import { once } from "node:events";
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { fastify } from "fastify";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { afterAll, beforeAll, expect, test } from "vitest";
import { encodeFrame, encodeWindow, frameTypes, WINDOW_BYTES } from "@skerry/contract/frames";
import { COMMAND_WITH_INPUT } from "@skerry/contract/host-api/vm";
import type { Host } from "../src/app/host.ts";
import { registerExecute } from "../src/http/execute.ts";
import { asSkerryError } from "../src/http/conventions.ts";
import { validatorCompiler } from "../src/http/validator-compiler.ts";
import { FakeGuest, type Peer } from "./support/fake-guest.ts";

const COMMAND = {
  execution_id: "exe_1",
  command: "cat",
  workdir: null,
  env: {},
  timeout_ms: 20_000,
  output_limit: 0,
};
const EXIT = {
  exit_code: 0,
  signal: 0,
  timed_out: false,
  oom_killed: false,
  truncated: false,
  duration_ms: 1,
  cpu_ms: 1,
  memory_peak_bytes: 1,
};

let guest: FakeGuest;
let peer: Peer;
let address: string;
const server = fastify().withTypeProvider<TypeBoxTypeProvider>();

beforeAll(async () => {
  guest = await FakeGuest.start();
  const greeted = await guest.greeted();
  peer = greeted.peer;
  const use = async () => ({ channel: greeted.channel, [Symbol.dispose]: () => undefined });
  server.setValidatorCompiler(validatorCompiler);
  server.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const known = asSkerryError(error);
    return reply.status(known.status).send(known.toBody());
  });
  // More of a host is not asked for here.
  registerExecute(server, { engine: { use } } as unknown as Host);
  await server.listen({ host: "127.0.0.1", port: 0 });
  address = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}/vms/sbx_1/execute`;
});

afterAll(async () => {
  await server.close();
  await guest[Symbol.asyncDispose]();
});

function begin(type: string): ClientRequest {
  return httpRequest(address, { method: "POST", headers: { "content-type": type } });
}

async function answerOf(sent: ClientRequest): Promise<IncomingMessage> {
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  return answer;
}

test("a command without input reads from nothing, and one with input from a pipe", async () => {
  const plain = begin("application/json");
  plain.end(JSON.stringify(COMMAND));
  const first = await peer.opened();
  expect(first.operation["stdin"]).toBe(false);
  await peer.close(first.id, EXIT);
  await buffer(await answerOf(plain));

  const piped = begin(COMMAND_WITH_INPUT);
  // The line and the input as they come, cut where no boundary is.
  const line = JSON.stringify({ ...COMMAND, command: "printf 'a\\nb'" });
  piped.write(line.slice(0, 10));
  piped.write(`${line.slice(10)}\nab`);
  piped.end("c\nd");
  const second = await peer.opened();
  expect(second.operation).toMatchObject({ command: "printf 'a\\nb'", stdin: true });
  expect((await peer.next("data")).payload.toString()).toBe("ab");
  expect((await peer.next("data")).payload.toString()).toBe("c\nd");
  await peer.next("close");
  await peer.close(second.id, EXIT);
  expect((await answerOf(piped)).statusCode).toBe(200);
});

test("a command that reads nothing gets no more than a window, and its output comes all the same", async () => {
  const sent = begin(COMMAND_WITH_INPUT);
  sent.write(`${JSON.stringify(COMMAND)}\n`);
  sent.end(Buffer.alloc(WINDOW_BYTES * 20));
  const { id } = await peer.opened();
  for (let bytes = 0; bytes < WINDOW_BYTES;) bytes += (await peer.next("data")).payload.length;
  await peer.send(encodeFrame(frameTypes.data, id, Buffer.from("output")));
  const answer = await answerOf(sent);
  const [chunk] = (await once(answer, "data")) as [Buffer];
  expect(chunk.toString()).toContain("output");
  await peer.close(id, EXIT);
  await buffer(answer);
  // The connection is fit for the next call.
  const next = begin("application/json");
  next.end(JSON.stringify(COMMAND));
  const opened = await peer.opened();
  await peer.close(opened.id, EXIT);
  expect((await answerOf(next)).statusCode).toBe(200);
});

test("input beyond a window arrives whole", async () => {
  const input = Buffer.alloc(WINDOW_BYTES * 3 + 17, "skerry ");
  const sent = begin(COMMAND_WITH_INPUT);
  sent.end(Buffer.concat([Buffer.from(`${JSON.stringify(COMMAND)}\n`), input]));
  const { id } = await peer.opened();
  const pieces: Buffer[] = [];
  for (let bytes = 0; bytes < input.length;) {
    const { payload } = await peer.next("data");
    pieces.push(payload);
    bytes += payload.length;
    await peer.send(encodeWindow(id, payload.length));
  }
  expect(Buffer.concat(pieces).equals(input)).toBe(true);
  await peer.next("close");
  await peer.close(id, EXIT);
  await buffer(await answerOf(sent));
});

test("a caller that breaks off in the middle of the input has the command killed", async () => {
  const sent = begin(COMMAND_WITH_INPUT);
  sent.on("error", () => undefined);
  sent.write(`${JSON.stringify(COMMAND)}\nhalf`);
  const { id } = await peer.opened();
  await peer.next("data");
  sent.destroy();
  expect((await peer.next("reset")).stream).toBe(id);
  await peer.close(id, EXIT);
});

test("a body without a command is refused", async () => {
  for (const body of ["", "no newline", "{}\ninput", `${"x".repeat(1_100_000)}\n`]) {
    const sent = begin(COMMAND_WITH_INPUT);
    sent.end(body);
    const answer = await answerOf(sent);
    expect(answer.statusCode).toBeGreaterThanOrEqual(400);
    await buffer(answer);
  }
});
