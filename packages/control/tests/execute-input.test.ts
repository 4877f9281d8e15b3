import { createHash, randomBytes } from "node:crypto";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeAll, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { ExecuteResponse } from "@skerry/contract/vms/execute";
import { gateOf } from "./support/fake-commands.ts";
import { eventually, useWorld } from "./support/world.ts";

const MIB = 1024 * 1024;
const STDIN_MAX_BYTES = 10 * MIB;

const world = useWorld();
let id: string;
beforeAll(async () => {
  id = (await world.createSandbox()).id;
});
afterEach(() => {
  world.host.failures.clear();
  world.host.passesInput = true;
});

function run(body: Record<string, unknown>, token = world.token, sandbox = id) {
  return world.call<ExecuteResponse & { code: string; message: string; remediation: string }>(
    "POST",
    `/v1/sandboxes/${sandbox}/execute`,
    { body, token },
  );
}

const inBase64 = (bytes: Buffer) => ({ stdin: bytes.toString("base64"), stdin_encoding: "base64" });
const sha256 = (bytes: Buffer | undefined) =>
  createHash("sha256")
    .update(bytes ?? "")
    .digest("hex");

test("a command reads its input as it was sent: text, and bytes as base64, padded or not", async () => {
  const every = Buffer.from(Uint8Array.from({ length: 256 }, (_, byte) => byte));
  const cases = [
    [{ stdin: "line\n\0ä€🙂" }, Buffer.from("line\n\0ä€🙂")],
    [inBase64(every), every],
    [{ stdin: every.toString("base64").replaceAll("=", ""), stdin_encoding: "base64" }, every],
  ] as const;
  for (const [body, read] of cases) {
    expect((await run({ command: "cat", ...body })).status).toBe(200);
    expect(world.host.inputs.at(-1)).toEqual(read);
  }
});

test("without input, or with an empty one, a command reads nothing", async () => {
  for (const body of [{}, { stdin: "" }, { stdin: "", stdin_encoding: "base64" }]) {
    world.host.inputs.length = 0;
    expect((await run({ command: "cat", ...body })).status).toBe(200);
    expect(world.host.inputs).toEqual([Buffer.alloc(0)]);
  }
});

test("10 MiB arrive by hash, one byte more is refused and nothing runs", async () => {
  const bytes = randomBytes(STDIN_MAX_BYTES);
  expect((await run({ command: "cat", ...inBase64(bytes) })).status).toBe(200);
  expect(sha256(world.host.inputs.at(-1))).toBe(sha256(bytes));
  const ran = world.host.commands.length;
  const over = await run({ command: "cat", ...inBase64(Buffer.concat([bytes, Buffer.alloc(1)])) });
  expect([over.status, over.body.code]).toEqual([413, "payload_too_large"]);
  expect(over.body.message).toBe('"stdin" is 10485761 bytes long; at most 10485760 are allowed.');
  // So long that not even its body is read.
  const body = await run({ command: "cat", stdin: "\u0001".repeat(3 * MIB) });
  expect([body.status, body.body.code]).toEqual([413, "payload_too_large"]);
  expect(body.body.remediation).toContain("command < file");
  expect(world.host.commands.length).toBe(ran);
});

test("what is neither base64 nor Unicode is refused and not changed in silence", async () => {
  const ran = world.host.commands.length;
  const wrong = [
    { stdin: "not base64!", stdin_encoding: "base64" },
    { stdin: "YWJj\nZGVm", stdin_encoding: "base64" },
    { stdin: "YWJjZ", stdin_encoding: "base64" },
    { stdin: "\ud800 alone" },
    { stdin: "x", stdin_encoding: "hex" },
    { stdin: 5 },
  ];
  for (const body of wrong) {
    const answer = await run({ command: "cat", ...body });
    expect([answer.status, answer.body.code], JSON.stringify(body)).toEqual([400, "bad_request"]);
    expect(answer.body.message).toContain("stdin");
  }
  expect(world.host.commands.length).toBe(ran);
});

test("a command that ends before it has read its input is an answer like any other", async () => {
  for (let round = 0; round < 3; round += 1) {
    const answer = await run({ command: "deaf", ...inBase64(Buffer.alloc(STDIN_MAX_BYTES)) });
    expect([answer.status, answer.body.exit_code]).toEqual([200, 0]);
  }
  expect((await run({ command: "echo still here" })).body.stdout).toBe("echo still here");
});

test("a host that cannot pass input on is named, and the command does not run without it", async () => {
  world.host.passesInput = false;
  const ran = world.host.commands.length;
  const answer = await run({ command: "cat", stdin: "x" });
  expect([answer.status, answer.body.code]).toEqual([422, "stdin_not_supported"]);
  expect(answer.body.remediation).toContain("Upgrade the host");
  expect(world.host.commands.length).toBe(ran);
  expect((await run({ command: "true" })).status).toBe(200);
});

test("where the host has refused for another reason, that reason is the answer", async () => {
  world.host.failures.set("execute", new SkerryError("sandbox_busy", "full"));
  expect((await run({ command: "cat", stdin: "x" })).body.code).toBe("sandbox_busy");
});

test("a command line is as long as Linux takes it, beside a long environment", async () => {
  const command = `binary ${"x".repeat(131_064)}`;
  const env = { A: "a".repeat(100_000) };
  const answer = await run({ command, env });
  expect([answer.status, answer.body.exit_code], answer.body.message).toEqual([200, 0]);
  expect(world.host.commands.at(-1)).toMatchObject({ command, env });
  const detached = await run({ command, env, detach: true });
  expect(detached.status).toBe(201);
  expect(world.host.executions.last.command).toMatchObject({ command, env });
  world.host.executions.all.clear();
});

test("inline code that is too long for a command line is told another way", async () => {
  const answer = await run({ command: `python3 -c '${"#".repeat(131_071)}'` });
  expect([answer.status, answer.body.code]).toEqual([400, "bad_request"]);
  expect(answer.body.remediation).toMatch(/`stdin`.*upload/);
});

test("a streamed command that has its input holds no memory for it", async () => {
  const body = JSON.stringify({ command: "forever", ...inBase64(Buffer.alloc(STDIN_MAX_BYTES)) });
  const leave = new AbortController();
  const streams: Response[] = [];
  // More than an organization has memory for at once.
  for (let at = 0; at < 5; at += 1) {
    const stream = await fetch(`${world.url}/v1/sandboxes/${id}/execute`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${world.token}`,
        "content-type": "application/json",
        accept: "text/event-stream",
      },
      body,
      signal: leave.signal,
    });
    // One that nothing refers to is closed.
    streams.push(stream);
    expect(stream.status).toBe(200);
    await eventually(() => world.host.executions.last.isInputRead, "it has read");
  }
  expect([...world.host.executions.all.values()].map(({ left }) => left)).toEqual(Array(5).fill(0));
  leave.abort();
  world.host.executions.all.clear();
});

test("an organization that fills its share of the memory for input takes none of another's", async () => {
  const stranger = await world.strangerToken();
  const theirs = await world.call<{ id: string }>("POST", "/v1/sandboxes", {
    token: stranger,
    body: { template: "base" },
  });
  const largest = { command: "hold 0 input", ...inBase64(Buffer.alloc(STDIN_MAX_BYTES)) };
  const held = Array.from({ length: 4 }, () => run(largest));
  await eventually(() => gateOf("input").waiting >= 3, "what there is memory for runs");
  const refused = await run(largest);
  expect([refused.status, refused.body.code]).toEqual([503, "no_capacity"]);
  expect(refused.body.remediation).toContain("command < file");
  // Its own small ones still run, and the largest of another organization.
  expect((await run({ command: "cat", stdin: "x".repeat(10_000) })).status).toBe(200);
  const other = await run(
    { command: "cat", ...inBase64(Buffer.alloc(STDIN_MAX_BYTES)) },
    stranger,
    theirs.body.id,
  );
  expect(other.status).toBe(200);
  gateOf("input").open();
  const statuses = (await Promise.all(held)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(3);
  await eventually(async () => (await run(largest)).status === 200, "its share is its own again");
});

test("clients that leave before their tokens are known keep none of the share", async () => {
  for (let left = 0; left < 4; left++) {
    // A new one is looked up in the database, so its client has left by the time that the body would be counted.
    const minted = await world.call<{ token: string }>("POST", "/v1/auth/tokens", {
      body: { name: `left-${left}` },
    });
    expect(minted.status).toBe(201);
    await leaveAtOnce(minted.body.token);
  }
  const largest = { command: "cat", ...inBase64(Buffer.alloc(STDIN_MAX_BYTES)) };
  expect((await run(largest)).status).toBe(200);
});

/** Announces the largest body, and closes the connection without it. */
function leaveAtOnce(token: string): Promise<void> {
  const { hostname, port } = new URL(world.url);
  const socket = connect(Number(port), hostname);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.end(
    [
      `POST /v1/sandboxes/${id}/execute HTTP/1.1`,
      `Host: ${hostname}`,
      `Authorization: Bearer ${token}`,
      "Content-Type: application/json",
      `Content-Length: ${13 * MIB}`,
      "\r\n",
    ].join("\r\n"),
    () => socket.destroy(),
  );
  return closed;
}

test("a body that does not say how long it is counts as it comes", async () => {
  const body = JSON.stringify({ command: "cat", stdin: "x".repeat(2 * MIB) });
  expect(await sendChunked(body)).toMatchObject({ status: 200 });
  expect(world.host.inputs.at(-1)).toHaveLength(2 * MIB);
  const endless = JSON.stringify({ command: "cat", stdin: "x".repeat(16 * MIB) });
  expect(await sendChunked(endless)).toMatchObject({ status: 413 });
  expect((await run({ command: "true" })).status).toBe(200);
});

/** With `Transfer-Encoding: chunked`. */
function sendChunked(body: string): Promise<{ readonly status: number | undefined; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      `${world.url}/v1/sandboxes/${id}/execute`,
      {
        method: "POST",
        headers: { authorization: `Bearer ${world.token}`, "content-type": "application/json" },
      },
      (response) =>
        void text(response).then((answer) => resolve({ status: response.statusCode, body: answer }), reject),
    );
    sent.once("error", reject);
    for (let at = 0; at < body.length; at += 65_536) sent.write(body.slice(at, at + 65_536));
    sent.end();
  });
}
