// The request log: one line for each request, with who sent it, and never what a client could have meant as a secret.

import { once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { openLog } from "../src/app/log.ts";
import { eventually, type LogLine, useWorld } from "./support/world.ts";

const world = useWorld();

/** The one line of the request with this id. */
async function lineOf(requestId: string | null): Promise<LogLine> {
  const lines = () =>
    world.log.filter((line) => line["msg"] === "request" && line["request_id"] === requestId);
  await eventually(() => lines().length > 0, `${requestId} is logged`);
  expect(lines()).toHaveLength(1);
  return lines()[0] ?? {};
}

test("a line tells organization and token where they are known, also of a call that is then refused, and the error", async () => {
  const { id } = await world.createSandbox();
  const good = await world.call("GET", `/v1/sandboxes/${id}`);
  const fields = await lineOf(good.headers.get("x-request-id"));
  expect(fields).toMatchObject({
    method: "GET",
    path: `/v1/sandboxes/${id}`,
    status: 200,
    org_id: world.orgId,
  });
  expect(fields["token_id"]).toMatch(/^tok_/);
  expect(fields).not.toHaveProperty("code");

  const stranger = await world.call("GET", "/metrics", { token: await world.strangerToken() });
  const refused = await lineOf(stranger.headers.get("x-request-id"));
  expect(refused).toMatchObject({ path: "/metrics", status: 403, code: "forbidden" });
  expect(refused["org_id"]).not.toBe(world.orgId);

  const unknown = await world.call("GET", "/v1/sandboxes", { token: "sk_wrong" });
  const anonymous = await lineOf(unknown.headers.get("x-request-id"));
  expect(anonymous).toMatchObject({ path: "/v1/sandboxes", status: 401, code: "unauthorized" });
  expect(anonymous).not.toHaveProperty("token_id");
});

test("bytes are counted both ways, of uploads, downloads and streams of events", async () => {
  const { id } = await world.createSandbox();
  const upload = await world.call("PUT", `/v1/sandboxes/${id}/files/tmp/a`, { body: "x".repeat(70_000) });
  expect((await lineOf(upload.headers.get("x-request-id")))["bytes_in"]).toBe(70_000);
  const download = await world.call("GET", `/v1/sandboxes/${id}/files/endless/100000`);
  expect((await lineOf(download.headers.get("x-request-id")))["bytes"]).toBe(100_000);
  const stream = await world.call("POST", `/v1/sandboxes/${id}/execute`, {
    body: { command: "flood 131072" },
    headers: { accept: "text/event-stream" },
  });
  expect((await lineOf(stream.headers.get("x-request-id")))["bytes"]).toBe(Buffer.byteLength(stream.text));
});

test("whatever a client sends, wherever it puts it, none of it is in the log", async () => {
  const secret = "hunter2hunter2";
  const token = `sk_${secret}${"x".repeat(30)}`;
  const { id } = await world.createSandbox();
  const paths = [
    `/v1/sandboxes/${id}/files/home/${secret}/key.pem`,
    `/v1/sandboxes/${id}/files/${secret}?list=true&x=${secret}`,
    `/v1/sandboxes/${id}/files/../../${secret}`,
    `/v1/sandboxes/${secret}`,
    `/v1/sandboxes/${token}/files/a`,
    `/v1/sandboxes/${id}/${secret}`,
    `/v1/sandboxes/${id}?token=${token}`,
    `/v1/templates/${secret}`,
    `/v1/auth/tokens/${token}`,
    `/${secret}`,
    `//${secret}/v1/health`,
    `/v1/health/${token}`,
    `/v1/audit?user_id=${secret}&${secret}=1`,
    `/%${secret}`,
    `/v1/sandboxes/%zz${secret}`,
    `/v1/sandboxes?metadata.${secret}=${secret}`,
    `/metrics?${secret}`,
    `http://${secret}@${secret}.example/v1/health`,
    `*${secret}`,
  ];
  const headers = [
    `authorization: Bearer ${token}`,
    `authorization: Basic ${secret}`,
    `x-api-key: ${token}`,
    `x-request-id: ${token}`,
    `x-request-id: ${secret} ${secret}`,
    `x-org-id: ${secret}`,
    `cookie: session=${secret}`,
    `user-agent: ${secret}`,
    `referer: https://example.com/${secret}`,
    `x-forwarded-for: ${secret}`,
    `idempotency-key: ${secret} ${secret}`,
    `accept: ${secret}`,
    `content-type: ${secret}/${secret}`,
    `expect: ${secret}`,
    `host: ${secret}`,
    `${secret}: x`,
  ];
  const own = `authorization: Bearer ${world.token}`;
  const body = JSON.stringify({ command: secret, env: { A: secret }, [secret]: 1 });
  for (const path of paths) {
    for (const method of ["GET", "POST", "PUT", "DELETE", "PROPFIND"])
      await raw(`${method} ${path}`, [own], secret);
  }
  for (const header of headers) {
    await raw("GET /v1/sandboxes", header.startsWith("auth") ? [header] : [own, header]);
    await raw("POST /v1/sandboxes", header.startsWith("auth") ? [header] : [own, header], body);
  }
  for (const broken of [
    `${secret} / HTTP/1.1`,
    `GET /${secret}`,
    `GET / HTTP/1.1\r\n${secret}`,
    `\0${secret}`,
  ]) {
    await raw(broken, [], "", true);
  }
  await world.call("POST", "/v1/sandboxes", { body: `{"name": "${secret}"` });
  await world.call("POST", `/v1/sandboxes/${id}/execute`, {
    body: { command: `cut ${secret}`, workdir: secret },
  });
  await world.host.stop();
  await world.call("PUT", `/v1/sandboxes/${id}/files/${secret}`, { body: secret });
  await world.host.start();
  const marker = await world.call("GET", "/v1/health");
  await lineOf(marker.headers.get("x-request-id"));
  const text = JSON.stringify(world.log);
  expect(world.log.length).toBeGreaterThan(paths.length * 4);
  expect(text).not.toContain(secret);
  expect(text).not.toContain(world.token.slice(3));
});

/** A request as it stands, until the server ends the connection. */
async function raw(line: string, headers: readonly string[], body = "", whole = false): Promise<void> {
  const port = (world.server.app.server.address() as AddressInfo).port;
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  const host = headers.some((header) => header.startsWith("host:")) ? [] : ["host: x"];
  const type = headers.some((header) => header.startsWith("content-type:"))
    ? []
    : ["content-type: application/json"];
  const length = body === "" ? [] : [...type, `content-length: ${Buffer.byteLength(body)}`];
  const head = [whole ? line : `${line} HTTP/1.1`, ...host, ...headers, ...length, "connection: close"];
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  socket.resume();
  await once(socket, "close", { signal: AbortSignal.timeout(30_000) });
}

test("a client that leaves a stream is no fault of ours: its request has one line, and no error", async () => {
  const { id } = await world.createSandbox();
  const machine = await world.createMachine();
  const begin = (method: string, path: string, body?: string) => {
    const headers = {
      authorization: `Bearer ${world.token}`,
      accept: "text/event-stream",
      "content-type": "application/json",
    };
    const gone = new AbortController();
    const init = { method, headers, signal: gone.signal, ...(body === undefined ? {} : { body }) };
    return fetch(world.url + path, init).then((response) => ({ response, gone }));
  };
  for (const left of [
    await begin("POST", `/v1/sandboxes/${id}/execute`, JSON.stringify({ command: "forever" })),
    await begin("GET", `/v1/sandboxes/${id}/files/endless/5000000000`),
    await begin("GET", `/v1/machines/${machine.id}/logs?follow=true`),
  ]) {
    const requestId = left.response.headers.get("x-request-id");
    expect(left.response.status).toBe(200);
    left.gone.abort();
    expect(await lineOf(requestId)).toMatchObject({ status: 200, aborted: true });
    const others = world.log.filter((line) => line["request_id"] === requestId && Number(line["level"]) > 30);
    expect(others).toEqual([]);
  }
});

test("neither is one that leaves in the middle of an upload, or while it waits for an answer", async () => {
  const { id } = await world.createSandbox();
  const { port } = world.server.app.server.address() as AddressInfo;
  const requests = {
    "left-upload": [`PUT /v1/sandboxes/${id}/files/tmp/half`, "application/octet-stream", "half of it"],
    "left-body": [`POST /v1/sandboxes/${id}/execute`, "application/json", '{"command":'],
    "left-execute": [`POST /v1/sandboxes/${id}/execute`, "application/json", '{"command":"forever"}'],
  } as const;
  for (const [requestId, [line, type, body]] of Object.entries(requests)) {
    const calls = world.host.calls.length;
    const length = requestId === "left-execute" ? body.length : 1_000;
    const socket = connect(port, "127.0.0.1");
    socket.write(
      `${line} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${world.token}\r\nx-request-id: ${requestId}\r\n` +
        `content-type: ${type}\r\ncontent-length: ${length}\r\n\r\n${body}`,
    );
    if (requestId === "left-body") await once(socket, "connect");
    else await eventually(() => world.host.calls.length > calls, "the host is asked");
    socket.destroy();
    expect((await lineOf(requestId))["status"]).toBe(499);
    const others = world.log.filter(
      (entry) => entry["request_id"] === requestId && Number(entry["level"]) > 30,
    );
    expect(others).toEqual([]);
  }
});

test("a failure that comes again is told once, with its stack", () => {
  const lines: string[] = [];
  const log = openLog("warn", { write: (line: string) => void lines.push(line) });
  for (let round = 0; round < 3; round += 1)
    log.warn({ err: new Error(`connect ECONNREFUSED 127.0.0.1:${7_000 + round}`), host_id: "hst_1" }, "away");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("request-log.test.ts");
});
