// Requests that get secrets on their way, over HTTP/1.1. Each test of the second half is a fault that another
// vendor had.

import { once } from "node:events";
import { Agent, type RequestOptions } from "node:https";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { authorityOf } from "../src/names/vm-authority.ts";
import {
  ask,
  ca,
  cleanups,
  dial,
  GUEST,
  HOST,
  injection,
  open,
  policy,
  rule,
  site,
  trusted,
  VALUE,
  valuesOf,
  type Seen,
} from "./support/injecting-world.ts";

test("a request gets its secret on the way, and the guest's own header is gone", async () => {
  const world = await open();
  const headers = { Authorization: "Bearer of the guest", "X-Own": "stays" };
  expect(await ask(world, { method: "POST", path: "/v1?a=1", headers, body: "its body" })).toMatchObject({
    status: 200,
    body: "hello",
  });
  const [one] = world.seen;
  expect(one).toMatchObject({ method: "POST", url: "/v1?a=1", body: "its body" });
  expect(valuesOf(one as Seen, "authorization")).toEqual([`Bearer ${VALUE}`]);
  expect(valuesOf(one as Seen, "x-own")).toEqual(["stays"]);
  expect(world.guests.get(GUEST)?.injected).toMatchObject([{ host: HOST, secret: "API_KEY", count: 1 }]);
});

test("a parameter and a password are places, too, in the place of the guest's own", async () => {
  const world = await open();
  world.tell({ inject: [{ host: HOST, secret: "API_KEY", query: "key" }] });
  await ask(world, { path: "/v1?key=mine&a=1&k%65y=mine" });
  world.tell({ inject: [{ host: HOST, secret: "API_KEY", basic_user: "me" }] });
  await ask(world);
  expect(world.seen[0]?.url).toBe(`/v1?a=1&key=${VALUE}`);
  expect(valuesOf(world.seen[1] as Seen, "authorization")).toEqual([`Basic ${btoa(`me:${VALUE}`)}`]);
});

test("only requests of a rule's methods and paths get it, however a path is written", async () => {
  const world = await open();
  world.tell({ inject: [{ ...rule, methods: ["GET"], paths: ["/v1/charges", "/v2/*"] }] });
  const gets = async (options: RequestOptions): Promise<boolean> => {
    await ask(world, options);
    return valuesOf(world.seen.at(-1) as Seen, "authorization").length > 0;
  };
  for (const path of ["/v1/charges", "/v1/charges?a=/../", "/v2/", "/v2/a/b"])
    expect(`${path} ${await gets({ path })}`).toBe(`${path} true`);
  const others = ["/", "/v1", "/v1/charges/1", "/v2", "/v2/../admin", "/v2/%2e%2e/admin", "/v2/..%2fadmin"];
  for (const path of [...others, "/v2/..\\admin", "/v2//admin", "/v2/%252e%252e/admin"])
    expect(`${path} ${await gets({ path })}`).toBe(`${path} false`);
  expect(await gets({ path: "/v1/charges", method: "POST" })).toBe(false);
});

test("a secret that is not there, or that no header can have, sends nothing and says so", async () => {
  const world = await open();
  world.tell({ injection: { ...injection, values: {} } });
  expect(await ask(world)).toMatchObject({
    status: 502,
    body: expect.stringContaining("secret_unavailable") as string,
  });
  world.tell({ injection: { ...injection, values: { API_KEY: "two\r\nX-Evil: lines" } } });
  expect((await ask(world)).status).toBe(502);
  expect(world.seen).toEqual([]);
});

test("a value that is set anew is in the next request of a connection that is kept, and none fails meanwhile", async () => {
  const world = await open();
  const agent = new Agent({ keepAlive: true, maxSockets: 4, ca, servername: HOST });
  cleanups.push(() => agent.destroy());
  let answered = 0;
  const statuses = await Promise.all(
    Array.from({ length: 1_000 }, async () => {
      const { status } = await ask(world, { agent });
      if ((answered += 1) === 500)
        world.tell({ injection: { ...injection, values: { API_KEY: "the-value-after" } } });
      return status;
    }),
  );
  expect(new Set(statuses)).toEqual(new Set([200]));
  const sent = new Set(world.seen.map((one) => valuesOf(one, "authorization").join("+")));
  expect(sent).toEqual(new Set([`Bearer ${VALUE}`, "Bearer the-value-after"]));
  await ask(world, { agent });
  expect(valuesOf(world.seen.at(-1) as Seen, "authorization")).toEqual(["Bearer the-value-after"]);
});

test("an answer shows the guest no value: not in its fields, nor in a body in pieces, nor in another form", async () => {
  const padding = "x".repeat(70_000);
  const world = await open({
    answer: ({ url }) =>
      url === "/moved"
        ? { Location: `https://${HOST}/?token=${VALUE}` }
        : `${padding}${VALUE}${padding}${btoa(VALUE)} ${JSON.stringify({ VALUE })}`,
  });
  const body = (await ask(world)).body;
  expect(body.length).toBe(
    2 * padding.length + VALUE.length + btoa(VALUE).length + 1 + JSON.stringify({ VALUE }).length,
  );
  expect(body).not.toContain(VALUE);
  expect(body).not.toContain(btoa(VALUE));
  expect((await ask(world, { path: "/moved" })).fields.location).toBe(
    `https://${HOST}/?token=${"*".repeat(VALUE.length)}`,
  );
  expect(valuesOf(world.seen[0] as Seen, "accept-encoding")).toEqual(["identity"]);
});

test("what a server sends comes as it sends it, without waiting for the end", async () => {
  const world = await open();
  const socket = await dial(world);
  socket.write(
    `GET /live HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n\r\n`,
  );
  const [head] = (await once(socket, "data")) as [Buffer];
  expect(head.toString()).toContain("101 Switching Protocols");
  socket.write("ping");
  const [echo] = (await once(socket, "data")) as [Buffer];
  expect(echo.toString()).toBe("ping");
  expect(valuesOf(world.seen[0] as Seen, "authorization")).toEqual([`Bearer ${VALUE}`]);
});

test("names without a rule are passed byte for byte: their server's own certificate comes", async () => {
  const world = await open({ name: "other.example" });
  const answer = await ask(world, {
    ...{ servername: "other.example", ca: trusted },
    headers: { Host: "other.example", Authorization: "own" },
  });
  expect(answer.status).toBe(200);
  expect(valuesOf(world.seen[0] as Seen, "authorization")).toEqual(["own"]);
});

test("each VM's authority is another one, and the same one for ever", async () => {
  const world = await open();
  const [other] = [authorityOf({ ...injection, vm: "sbx_b", seed: "6f".repeat(32) })];
  await expect(ask(world, { ca: other })).rejects.toThrow(/self-signed|unable to verify|certificate/);
  const later = authorityOf(injection);
  expect(later).not.toBe(ca);
  expect((await ask(world, { ca: later })).status).toBe(200);
});

test("the guest chooses the address and sends another Host: nothing is sent", async () => {
  const world = await open();
  for (const host of ["evil.example", "evil.example:443", site, "api.example.evil.example"])
    expect(`${host} ${(await ask(world, { headers: { Host: host } })).status}`).toBe(`${host} 421`);
  expect((await ask(world, { path: `https://evil.example/` })).status).toBe(421);
  expect(world.seen).toEqual([]);
});

test("a Host that differs from the name on the second request of a kept connection is refused", async () => {
  const world = await open();
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca, servername: HOST });
  cleanups.push(() => agent.destroy());
  expect((await ask(world, { agent })).status).toBe(200);
  expect((await ask(world, { agent, headers: { Host: "evil.example" } })).status).toBe(421);
  expect(world.seen.length).toBe(1);
});

test("a server whose certificate is another one's gets nothing", async () => {
  const world = await open({ name: "evil.example" });
  const answer = await ask(world);
  expect([answer.status, answer.body]).toEqual([502, expect.stringContaining("certificate")]);
  expect(world.seen).toEqual([]);
});

test.each([
  [
    "both lengths",
    "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\nHost: evil\r\n\r\n",
  ],
  ["a length twice", "Content-Length: 0\r\nContent-Length: 30\r\n\r\n"],
  ["a bare line feed", "X-One: 1\nX-Two: 2\r\n\r\n"],
  ["a space before the colon", "Authorization : mine\r\n\r\n"],
  ["two Hosts", "Host: evil.example\r\n\r\n"],
])("a request that servers may read in two ways is refused: %s", async (_what, rest) => {
  const world = await open();
  const socket = await dial(world);
  socket.write(`POST /one HTTP/1.1\r\nHost: ${HOST}\r\n${rest}`);
  const said = await text(socket);
  expect(said).toMatch(/^HTTP\/1\.1 (403|421) /);
  expect(world.seen).toEqual([]);
});

test("a continued line is one value where it goes, and no second field", async () => {
  const world = await open();
  const socket = await dial(world);
  socket.write(
    `GET / HTTP/1.1\r\nHost: ${HOST}\r\nX-Folded: a\r\n Authorization: mine\r\nConnection: close\r\n\r\n`,
  );
  await text(socket);
  for (const one of world.seen) expect(valuesOf(one, "authorization")).toEqual([`Bearer ${VALUE}`]);
});

test("a connection over TLS that is no HTTP/1.1 ends", async () => {
  const world = await open();
  const socket = await dial(world);
  socket.write("SSH-2.0-client\r\n");
  expect(await text(socket)).toContain("403 Forbidden");
  const plain = connect(world.port, GUEST)
    .on("error", () => undefined)
    .resume();
  cleanups.push(() => plain.destroy());
  plain.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\nAuthorization: mine\r\n\r\n`);
  await once(plain, "close");
  expect(world.seen).toEqual([]);
});

test("a guest whose host has lost its secrets is refused, and goes on where the proxy has them", async () => {
  const world = await open();
  world.tell({ injection: undefined });
  expect((await ask(world)).status).toBe(200);
  world.guests.set({ guest: GUEST, policy: { ...policy, injection: undefined }, isNew: true });
  await expect(ask(world)).rejects.toThrow();
  expect(world.seen.length).toBe(1);
});
