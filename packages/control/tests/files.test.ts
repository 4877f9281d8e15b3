import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
let id: string;
beforeAll(async () => {
  id = (await world.createSandbox()).id;
});
beforeEach(() => {
  world.host.failures.clear();
  world.host.files.clear();
});

const UPLOAD_MAX_BYTES = 100_000_000;

interface Uploaded {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** With node:http, because fetch decides on lengths and types by itself. */
async function upload(
  path: string,
  body: Iterable<Buffer>,
  headers: Record<string, string> = {},
): Promise<Uploaded> {
  const request = httpRequest({
    port: (world.server.app.server.address() as AddressInfo).port,
    // As it is: a URL object would resolve `..` before it is sent.
    path: `/v1/sandboxes/${id}/files/${path}`,
    method: "PUT",
    // A request of its own: one that lies about its length would leave a connection that nobody can use again.
    agent: false,
    headers: { authorization: `Bearer ${world.token}`, ...headers },
  });
  request.on("error", () => undefined);
  Readable.from(body).pipe(request);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const chunks = await response.toArray();
  request.destroy();
  return {
    status: response.statusCode ?? 0,
    body: JSON.parse(Buffer.concat(chunks as Buffer[]).toString()) as Record<string, unknown>,
  };
}

function* pieces(bytes: number): Generator<Buffer> {
  const piece = randomBytes(65_536);
  for (let sent = 0; sent < bytes; sent += piece.length) yield piece.subarray(0, bytes - sent);
}

test("random bytes arrive and come back as they were", async () => {
  const content = randomBytes(900_001);
  const { status, body } = await upload("tmp/random.bin", [content]);
  expect([status, body]).toEqual([200, { path: "/tmp/random.bin", size: 900_001 }]);
  const stored = world.host.files.get("/tmp/random.bin");
  expect(stored?.sha256).toBe(createHash("sha256").update(content).digest("hex"));
  const response = await fetch(`${world.url}/v1/sandboxes/${id}/files/tmp/random.bin`, {
    headers: { authorization: `Bearer ${world.token}` },
  });
  expect(response.headers.get("content-length")).toBe("900001");
  expect(response.headers.get("content-type")).toBe("application/octet-stream");
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true);
});

test("any content type is a file, also none, an invalid one and JSON", async () => {
  for (const type of [
    "application/json",
    "text/plain",
    "not a type",
    "multipart/form-data; boundary=x",
    "",
  ]) {
    const headers: Record<string, string> = type === "" ? {} : { "content-type": type };
    const { status } = await upload("a", [Buffer.from("{")], headers);
    expect(status, type).toBe(200);
    expect(world.host.files.get("/a")?.content.toString()).toBe("{");
  }
  expect((await world.call("PUT", `/v1/sandboxes/${id}/files/empty`)).status).toBe(200);
  expect(world.host.files.get("/empty")?.size).toBe(0);
});

test("a part of a file is sent alone, and one that the file has not is refused with its size", async () => {
  await upload("letters", [Buffer.from("abcdefghij")]);
  const ask = async (headers: Record<string, string>) => {
    const answer = await fetch(`${world.url}/v1/sandboxes/${id}/files/letters`, {
      headers: { "x-api-key": world.token, ...headers },
    });
    const { status } = answer;
    return [status, answer.headers.get("content-range"), await answer.text()];
  };
  expect(await ask({ range: "bytes=2-4" })).toEqual([206, "bytes 2-4/10", "cde"]);
  expect(await ask({ range: "bytes=7-" })).toEqual([206, "bytes 7-9/10", "hij"]);
  expect(await ask({ range: "bytes=0-1,3-4" })).toEqual([200, null, "abcdefghij"]);
  expect(await ask({ range: "bytes=2-4", "if-range": '"a"' })).toEqual([200, null, "abcdefghij"]);
  const [status, size, text] = await ask({ range: "bytes=10-" });
  expect([status, size]).toEqual([416, "bytes */10"]);
  expect(JSON.parse(String(text))).toMatchObject({ code: "range_not_satisfiable" });
});

test("a path is decoded exactly once", async () => {
  const names = [
    ["a%20b", "/a b"],
    ["%2541", "/%41"],
    ["caf%C3%A9/%E2%9C%93", "/café/✓"],
    ["q%3Fx%23y%25z", "/q?x#y%z"],
    ["a+b&c=d;e,f", "/a+b&c=d;e,f"],
    ["a%2Fb", "/a/b"],
    ["%2Fetc/x", "//etc/x"],
    ["...", "/..."],
  ] as const;
  for (const [encoded, path] of names) {
    expect((await upload(encoded, [Buffer.from("x")])).status, encoded).toBe(200);
    expect([...world.host.files.keys()].at(-1), encoded).toBe(path);
  }
});

test("a path that climbs is refused, however it is written", async () => {
  for (const path of ["a/../b", "a/%2e%2e/b", "a%2F..%2Fb", "..", "a/.%2E"]) {
    const { status, body } = await upload(path, [Buffer.from("x")]);
    expect([status, body["code"]], path).toEqual([400, "invalid_path"]);
  }
  expect(world.host.files.size).toBe(0);
});

test("a mode is octal and 0644 without one", async () => {
  await upload("plain", [Buffer.from("x")]);
  await upload("tool?mode=0755", [Buffer.from("x")]);
  expect(world.host.files.get("/plain")?.mode).toBe(0o644);
  expect(world.host.files.get("/tool")?.mode).toBe(0o755);
  const { status, body } = await upload("bad?mode=rwx", [Buffer.from("x")]);
  expect([status, body["code"]]).toEqual([400, "bad_request"]);
});

test("attributes go to the host with the file, and come back with what is known of it", async () => {
  const attributes = { author: "Ada ü", __proto__x: "", ["a".repeat(250)]: "long" };
  const query = `attributes=${encodeURIComponent(JSON.stringify(attributes))}`;
  expect((await upload(`kept?${query}`, [Buffer.from("x")])).status).toBe(200);
  expect(world.host.files.get("/kept")?.attributes).toEqual(attributes);
  const { body } = await world.call("GET", `/v1/sandboxes/${id}/stat/kept`);
  expect(body["attributes"]).toEqual(attributes);
  const own = JSON.parse('{"__proto__":"own"}') as Record<string, string>;
  await upload(`own?attributes=${encodeURIComponent('{"__proto__":"own"}')}`, [Buffer.from("x")]);
  expect(Object.entries(world.host.files.get("/own")?.attributes ?? {})).toEqual(Object.entries(own));
});

test.each([
  ["no JSON", "{"],
  ["no object", '["x"]'],
  ["nothing", "null"],
  ["a number", '{"a":1}'],
  ["an empty name", '{"":"x"}'],
  ["a name with =", '{"a=b":"x"}'],
  ["a name that is too long", JSON.stringify({ ["ü".repeat(126)]: "x" })],
  ["a NUL", String.raw`{"a":"\u0000"}`],
  ["half a character", String.raw`{"a":"\ud800"}`],
  ["too many bytes", JSON.stringify({ a: "x".repeat(4_091) })],
  ["too many", JSON.stringify(Object.fromEntries(Array.from({ length: 257 }, (_, at) => [`${at}`, ""])))],
])("attributes that are %s are refused", async (_what, text) => {
  const { status, body } = await upload(`never?attributes=${encodeURIComponent(text)}`, [Buffer.from("x")]);
  expect([status, body["code"]]).toEqual([400, "bad_request"]);
  expect(world.host.files.has("/never")).toBe(false);
});

test("a directory is listed", async () => {
  const { body } = await world.call("GET", `/v1/sandboxes/${id}/files/etc?list=true`);
  expect(body).toMatchObject({ entries: [{ name: "a", type: "file" }], truncated: false });
  const { status } = await world.call("GET", `/v1/sandboxes/${id}/files/?list=true`);
  expect(status).toBe(200);
});

test("what the host says of a file is passed on", async () => {
  const missing = await world.call("GET", `/v1/sandboxes/${id}/files/none`);
  expect(missing.body).toMatchObject({
    code: "file_not_found",
    message: 'There is no file or directory "/none" in the VM.',
    context: { path: "/none" },
  });
  const longest = `${"a".repeat(250)}/${"b".repeat(250)}`;
  const long = await world.call("GET", `/v1/sandboxes/${id}/files/${longest}`);
  expect(long.body).toMatchObject({
    message: expect.stringContaining('aaa…" in') as string,
    context: { path: `/${longest}` },
  });
  world.host.failures.set("write", new SkerryError("path_is_directory", "It is a directory."));
  // The host answers before it has read anything: the answer must come through all the same.
  const { status, body } = await upload("dir", pieces(5_000_000));
  expect([status, body["code"]]).toEqual([409, "path_is_directory"]);
});

test("an upload that says it is too large is refused before a byte goes to the host", async () => {
  const calls = world.host.calls.length;
  const { status, body } = await upload("big", [], { "content-length": String(UPLOAD_MAX_BYTES + 1) });
  expect([status, body["code"]]).toEqual([413, "payload_too_large"]);
  expect(world.host.calls.length).toBe(calls);
});

test("an upload of unknown length may have 100,000,000 bytes, and with one more nothing is left", async () => {
  const fits = await upload("fits", pieces(UPLOAD_MAX_BYTES));
  expect(fits).toEqual({ status: 200, body: { path: "/fits", size: UPLOAD_MAX_BYTES } });
  const over = await upload("over", pieces(UPLOAD_MAX_BYTES + 1));
  expect([over.status, over.body["code"]]).toEqual([413, "payload_too_large"]);
  expect(world.host.files.has("/over")).toBe(false);
});

test("an upload that is broken off leaves nothing, and the host is told", async () => {
  for (const length of ["content-length: 1000000", "transfer-encoding: chunked"]) {
    const aborted = world.host.aborted;
    const socket = connect((world.server.app.server.address() as AddressInfo).port, "127.0.0.1");
    socket.write(
      `PUT /v1/sandboxes/${id}/files/half HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${world.token}\r\n${length}\r\n\r\n` +
        (length.startsWith("content") ? "half of it" : "4\r\nhalf\r\n"),
    );
    const calls = world.host.calls.length;
    await eventually(() => world.host.calls.length > calls, "the host is called");
    socket.destroy();
    await eventually(() => world.host.aborted === aborted + 1, "the host sees the upload end");
    expect(world.host.files.has("/half")).toBe(false);
  }
});

test("a download that is broken off ends the call to the host", async () => {
  const aborted = world.host.aborted;
  const controller = new AbortController();
  const response = await fetch(`${world.url}/v1/sandboxes/${id}/files/endless/5000000000`, {
    headers: { authorization: `Bearer ${world.token}` },
    signal: controller.signal,
  });
  await response.body?.getReader().read();
  controller.abort();
  await eventually(() => world.host.aborted === aborted + 1, "the host sees the download end");
});

test("a download of any size needs no memory for it", async () => {
  const before = process.memoryUsage().rss;
  const response = await fetch(`${world.url}/v1/sandboxes/${id}/files/endless/300000000`, {
    headers: { authorization: `Bearer ${world.token}` },
  });
  let bytes = 0;
  for await (const chunk of response.body ?? []) bytes += (chunk as Uint8Array).length;
  expect(bytes).toBe(300_000_000);
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
});

test("a body that nobody wants is not read to its end: its sender gets the answer and then the end", async () => {
  const socket = connect((world.server.app.server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write("PUT /v1/sandboxes/x/files/y HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
  const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
  const flood = setInterval(() => socket.write(chunk), 5);
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(answer.toString()).toContain("401 Unauthorized");
  // Not `once`: the end may well be a reset.
  await new Promise((resolve) => socket.once("close", resolve));
  clearInterval(flood);
});
