// Requests to ports of guests: what passes between a client and what listens there.

import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { errorOf, GuestPorts } from "./support/guest-port.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
const guest = new GuestPorts(world);

test("a request reaches the guest with its method, path, query, fields and body, and the answer comes back", async () => {
  const port = await guest.serve((request, response) => {
    void text(request).then((body) => {
      response.writeHead(207, { "x-thing": "yes", "content-type": "text/plain" });
      response.end(
        JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }),
      );
    });
  });
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
    // oxlint-disable-next-line no-await-in-loop
    const answer = await guest.get(port, "/a%2Fb/ä?x=1&y=%20", {
      method,
      body: "body",
      headers: { "content-type": "application/vnd.x+json", "x-own": "1", "idempotency-key": "k" },
    });
    expect(answer.status).toBe(207);
    expect(answer.headers.get("x-thing")).toBe("yes");
    // oxlint-disable-next-line no-await-in-loop
    const seen = (await answer.json()) as { headers: Record<string, string> };
    expect(seen).toMatchObject({ method, url: "/a%2Fb/%C3%A4?x=1&y=%20", body: "body" });
    expect(seen.headers).toMatchObject({
      host: `localhost:${port}`,
      "content-type": "application/vnd.x+json",
      "x-own": "1",
      "idempotency-key": "k",
      "x-forwarded-host": new URL(world.url).host,
      "x-forwarded-proto": "http",
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-prefix": `/v1/sandboxes/${guest.id}/ports/${port}`,
    });
  }
  const head = await guest.get(port, "/", { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([207, ""]);
  expect((await guest.get(port, "/", { method: "OPTIONS" })).status).toBe(207);
});

test("the address of a port without the slash at its end leads to the one with it, but for what the API has there", async () => {
  const port = await guest.serve(({ url }, response) => response.end(url));
  const bare = guest.path(port, "");
  for (const method of ["GET", "POST"]) {
    // oxlint-disable-next-line no-await-in-loop
    const answer = await fetch(`${world.url}${bare}?a=1&b=/`, { method, redirect: "manual" });
    expect([answer.status, answer.headers.get("location")]).toEqual([308, `${bare}/?a=1&b=/`]);
  }
  const headers = { "x-api-key": world.token };
  expect(await (await fetch(`${world.url}${bare}?a=1`, { headers })).text()).toBe("/?a=1");
  expect((await world.call("PATCH", bare, { body: { public: false } })).status).toBe(200);
  expect((await fetch(`${world.url}/v1/sandboxes/${guest.id}/stat`)).status).not.toBe(308);
});

test("what a client shows to us never reaches the guest", async () => {
  let seen: string[] = [];
  const port = await guest.serve((request, response) => {
    seen = request.rawHeaders.concat(request.url ?? "");
    response.end();
  });
  const answer = await fetch(`${world.url}${guest.path(port, "/?a=1&_skerry=1.abc&b=2")}`, {
    headers: { authorization: `Bearer ${world.token}` },
  });
  expect((await errorOf(answer)).code).toBe("invalid_signature");
  const sent = httpRequest(world.url + guest.path(port), {
    headers: {
      "X-API-Key": world.token,
      "X-Org-ID": world.orgId,
      Cookie: "session=secret-cookie",
      "Proxy-Authorization": "secret-proxy",
      Connection: "X-Named",
      "X-Named": "secret-named",
      "X-Forwarded-For": "1.2.3.4",
    },
  });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  const all = seen.join("\n");
  for (const secret of [world.token, world.orgId, "secret-", "1.2.3.4"]) expect(all).not.toContain(secret);
});

test("a port that closes without an answer, and one on which nothing listens, are told apart", async () => {
  const port = guest.listen((connection) => connection.end());
  expect(await errorOf(await guest.get(port))).toMatchObject({ status: 502, code: "guest_failed" });
  const closed = await errorOf(await guest.get(3_000));
  expect(closed).toMatchObject({
    status: 409,
    code: "port_not_listening",
    message: "Nothing listens on port 3000 in the sandbox.",
  });
  expect(closed.remediation).toContain("Start a server");
  for (const bad of ["0", "65536", "http", "-1", "1e3"]) {
    // oxlint-disable-next-line no-await-in-loop
    const answer = await fetch(`${world.url}/v1/sandboxes/${guest.id}/ports/${bad}/`, {
      headers: { "x-api-key": world.token },
    });
    // oxlint-disable-next-line no-await-in-loop
    expect((await errorOf(answer)).code, bad).toBe("invalid_port");
  }
});

test("a body of 20 MB comes back as it was sent, both with a length and in chunks", async () => {
  const port = await guest.serve((request, response) => {
    response.setHeader("x-length", request.headers["content-length"] ?? "none");
    request.pipe(response);
  });
  const body = randomBytes(20_000_000);
  const whole = await guest.get(port, "/", { method: "POST", body });
  expect(whole.headers.get("x-length")).toBe("20000000");
  const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
  expect(hash(await whole.bytes())).toBe(hash(body));
  const sent = httpRequest(world.url + guest.path(port), {
    method: "POST",
    headers: { "x-api-key": world.token },
  });
  sent.flushHeaders();
  sent.write(body.subarray(0, 10_000_000));
  sent.end(body.subarray(10_000_000));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect(response.headers["x-length"]).toBe("none");
  expect(hash(await buffer(response))).toBe(hash(body));
});

test("server-sent events come one by one, as they are written", async () => {
  let send: (event: string) => void = () => undefined;
  const port = await guest.serve((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    send = (event) => void response.write(`data: ${event}\n\n`);
  });
  const answer = await guest.get(port);
  const reader = answer.body?.getReader();
  for (const event of ["one", "two", "three"]) {
    send(event);
    // oxlint-disable-next-line no-await-in-loop
    const part = await reader?.read();
    expect(Buffer.from(part?.value ?? []).toString()).toBe(`data: ${event}\n\n`);
  }
  await reader?.cancel();
});

test("a client that leaves ends the request in the guest", async () => {
  let gone = false;
  const port = await guest.serve((request, response) => {
    response.once("close", () => (gone = true));
    request.resume();
    response.write("begun");
  });
  const controller = new AbortController();
  const answer = await guest.get(port, "/", { signal: controller.signal });
  await answer.body?.getReader().read();
  controller.abort();
  await eventually(async () => gone, "the guest's server notices");
});

test("connections are kept for the next request, and not for long", async () => {
  const port = await guest.serve((_request, response) => response.end("x"));
  const before = world.host.ports.connections;
  for (let i = 0; i < 5; i += 1) {
    // oxlint-disable-next-line no-await-in-loop
    expect(await (await guest.get(port)).text()).toBe("x");
  }
  expect(world.host.ports.connections - before).toBe(1);
  await (await guest.get(port, "/", { method: "POST", body: "x" })).text();
  expect(world.host.ports.connections - before).toBe(2);
  await eventually(async () => world.host.ports.open === 0, "idle connections are closed");
});

test("a kept connection that the guest has closed meanwhile costs a repeatable request nothing", async () => {
  let answers = 0;
  const port = guest.listen((connection) => {
    connection.once("data", () => {
      answers += 1;
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
      connection.once("data", () => connection.destroy());
    });
  });
  for (let i = 0; i < 3; i += 1) {
    // oxlint-disable-next-line no-await-in-loop
    expect(await (await guest.get(port)).text()).toBe("x");
  }
  expect(answers).toBe(3);
});

/** Sends the head of an upgrade and answers what came back, until the connection ends or there is `until`. */
async function upgrade(port: number, { token = world.token, until = "\r\n\r\n" } = {}) {
  const { hostname, port: own } = new URL(world.url);
  const socket = connect(Number(own), hostname);
  socket.on("error", () => undefined);
  socket.write(
    `GET ${guest.path(port, "/socket")} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nCookie: a=b\r\nContent-Length: 7\r\n\r\n`,
  );
  let seen = "";
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    seen += (chunk as Buffer).toString("latin1");
    if (seen.includes(until)) break;
  }
  return { socket, seen };
}

test("a WebSocket passes through, both ways, and ends with either side", async () => {
  let head = "";
  const port = guest.listen((connection) => {
    connection.once("data", (bytes: Buffer) => {
      head = bytes.toString();
      connection.write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSet-Cookie: a=b\r\nX-Other: 1\r\n\r\nfirst",
      );
      connection.on("data", (more: Buffer) => connection.write(`echo ${more.toString()}`));
    });
  });
  const { socket, seen } = await upgrade(port, { until: "first" });
  expect(seen).toMatch(/^HTTP\/1\.1 101 /);
  expect(seen.toLowerCase()).toContain("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=");
  expect(seen.toLowerCase()).not.toContain("set-cookie");
  expect(seen.toLowerCase()).not.toContain("x-other");
  expect(head).toMatch(/^GET \/socket HTTP\/1\.1\r\n/);
  expect(head.toLowerCase()).toContain("upgrade: websocket");
  expect(head.toLowerCase()).not.toMatch(/cookie|x-api-key|content-length/);
  socket.write("hello");
  const [echoed] = (await once(socket, "data")) as [Buffer];
  expect(echoed.toString()).toBe("echo hello");
  socket.destroy();
  await eventually(async () => world.host.ports.open === 0, "the guest's side is closed");
  await eventually(
    async () => world.log.some((line) => line["msg"] === "request" && line["status"] === 101),
    "the WebSocket is logged when it has ended",
  );
});

test("a WebSocket without a token is refused, and one that the guest declines gets the guest's answer", async () => {
  const port = await guest.serve((_request, response) => response.writeHead(404).end("no socket here"));
  const refused = await upgrade(port, { token: "", until: "unauthorized" });
  expect(refused.seen).toMatch(/^HTTP\/1\.1 401 /);
  await once(refused.socket.resume(), "close");
  const declined = await upgrade(port, { until: "no socket here" });
  expect(declined.seen).toMatch(/^HTTP\/1\.1 404 /);
  expect(declined.seen).toContain("sandbox allow-scripts allow-forms");
  await once(declined.socket.resume(), "close");
});

test("an upgrade to anything else is a plain request", async () => {
  const port = await guest.serve((request, response) => response.end(String(request.headers.upgrade)));
  const sent = httpRequest(world.url + guest.path(port), {
    headers: {
      "x-api-key": world.token,
      connection: "Upgrade, HTTP2-Settings",
      upgrade: "h2c",
      "http2-settings": "x",
    },
  });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect(await text(response)).toBe("undefined");
});
