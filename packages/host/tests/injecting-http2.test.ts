// Requests that get secrets on their way, over HTTP/2 on both sides.

import { expect, test } from "vitest";
import {
  ask,
  askHttp2,
  dial,
  HOST,
  injection,
  open,
  openHttp2,
  rule,
  VALUE,
  valuesOf,
  type Seen,
} from "./support/injecting-world.ts";

test("a guest and a server that speak it do so, with the secret in each request and trailers behind the answer", async () => {
  const world = await open({ trailers: { "grpc-status": "0" } });
  const session = await openHttp2(world);
  const headers = { authorization: "of the guest", te: "trailers", "x-own": "stays" };
  const answers = await Promise.all([
    askHttp2(session, { ...headers, ":path": "/a?b=1" }, "x".repeat(200_000)),
    askHttp2(session),
  ]);
  for (const answer of answers)
    expect(answer).toMatchObject({ status: 200, body: "hello", trailers: { "grpc-status": "0" } });
  const [post] = world.seen.filter(({ method }) => method === "POST");
  expect(post).toMatchObject({ version: "2.0", url: "/a?b=1", body: "x".repeat(200_000) });
  expect(valuesOf(post as Seen, "x-own")).toEqual(["stays"]);
  for (const one of world.seen) expect(valuesOf(one, "authorization")).toEqual([`Bearer ${VALUE}`]);
});

test("a client that speaks HTTP/1.1 alone is served so, whatever the server speaks", async () => {
  const world = await open();
  expect((await dial(world, ["http/1.1"])).alpnProtocol).toBe("http/1.1");
  expect((await ask(world)).status).toBe(200);
  expect(world.seen[0]?.version).toBe("1.1");
});

test("a connection that is for one name is not for another one of the same server", async () => {
  const world = await open();
  const session = await openHttp2(world);
  for (const other of ["evil.example", "api.example:80", "127.0.0.1"])
    expect(`${other} ${(await askHttp2(session, { ":authority": other })).status}`).toBe(`${other} 421`);
  expect((await askHttp2(session, { ":authority": HOST, host: "evil.example" })).status).toBe(421);
  expect(world.seen).toEqual([]);
  expect((await askHttp2(session)).status).toBe(200);
});

test("a secret that is not there sends nothing, and one that is set anew is in the next request", async () => {
  const world = await open();
  const session = await openHttp2(world);
  world.tell({ injection: { ...injection, values: {} } });
  const refused = await askHttp2(session);
  expect([refused.status, refused.body]).toEqual([502, expect.stringContaining("secret_unavailable")]);
  expect(world.seen).toEqual([]);
  world.tell({ injection: { ...injection, values: { API_KEY: "the-value-after" } } });
  await askHttp2(session);
  expect(valuesOf(world.seen[0] as Seen, "authorization")).toEqual(["Bearer the-value-after"]);
});

test("an answer shows the guest no value: not in its fields, its body or its trailers", async () => {
  const world = await open({
    answer: ({ url }) => (url === "/moved" ? { location: `/${VALUE}` } : `it is ${VALUE}`),
    trailers: { "x-echo": VALUE },
  });
  const session = await openHttp2(world);
  const stars = "*".repeat(VALUE.length);
  expect(await askHttp2(session)).toMatchObject({ body: `it is ${stars}`, trailers: { "x-echo": stars } });
  expect((await askHttp2(session, { ":path": "/moved" })).fields["location"]).toBe(`/${stars}`);
});

test("a server that ends its connection gets another one for the next request", async () => {
  const world = await open();
  const session = await openHttp2(world);
  await askHttp2(session);
  world.hangUp();
  await expect.poll(async () => (await askHttp2(session)).status, { timeout: 10_000 }).toBe(200);
});

test("a server of another name gets nothing, and the guest hears why", async () => {
  const world = await open({ name: "evil.example" });
  const answer = await ask(world, { ALPNProtocols: ["h2", "http/1.1"] });
  expect([answer.status, answer.body]).toEqual([502, expect.stringContaining("certificate")]);
  expect(world.seen).toEqual([]);
});

test("only a rule's methods and paths get it", async () => {
  const world = await open();
  world.tell({ inject: [{ ...rule, paths: ["/v1/*"] }] });
  const session = await openHttp2(world);
  for (const path of ["/v1/a", "/v1/../admin"]) await askHttp2(session, { ":path": path });
  expect(world.seen.map((one) => valuesOf(one, "authorization").length)).toEqual([1, 0]);
});
