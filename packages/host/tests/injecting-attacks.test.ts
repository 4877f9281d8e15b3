// A guest, or a server of its own, that wants the value of a secret or the end of the proxy.

import { once } from "node:events";
import { connect as connectPlain } from "node:net";
import { gzipSync } from "node:zlib";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { HiddenTexts } from "../src/names/hidden-texts.ts";
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

const stars = "*".repeat(VALUE.length);

/** Sizes of the pieces that come of a text. */
async function sizesOf(text: string): Promise<number[]> {
  const filter = new HiddenTexts([VALUE]).filter();
  const sizes: number[] = [];
  filter.on("data", (piece: Buffer) => sizes.push(piece.length));
  filter.write(text);
  await sleep(50);
  filter.end();
  await once(filter, "end");
  return sizes;
}

test("where pieces end says nothing of the value, and nothing is held for long", async () => {
  const before = "x".repeat(1_000);
  const guesses = [VALUE.slice(0, 8), `${VALUE.slice(0, 7)}!`, "!".repeat(8)];
  const [first, ...others] = await Promise.all(guesses.map((guess) => sizesOf(before + guess)));
  for (const sizes of others) expect(sizes).toEqual(first);
  const filter = new HiddenTexts([VALUE]).filter();
  filter.write(`data: 1 ${VALUE.slice(0, 1)}`);
  await once(filter, "data");
  filter.destroy();
});

test("a value that comes in two pieces with a pause between them is not shown whole", async () => {
  const filter = new HiddenTexts([VALUE]).filter();
  let shown = "";
  filter.on("data", (piece: Buffer) => void (shown += piece.toString()));
  filter.write(VALUE.slice(0, 12));
  await sleep(50);
  filter.end(`${VALUE.slice(12)} is it`);
  await once(filter, "end");
  expect(shown).toBe(`${VALUE.slice(0, 12)}${"*".repeat(VALUE.length - 12)} is it`);
});

test("of two values of which one begins the other no rest is shown", () => {
  const [answer] = new HiddenTexts(["shared-beginning", "shared-beginning-and-more"]).hide([
    "shared-beginning-and-more",
  ]);
  expect(answer).toBe("*".repeat(25));
});

test("an answer in pieces that the guest chooses, or in a form that cannot be searched, is not had", async () => {
  const world = await open();
  await ask(world, { headers: { Range: "bytes=0-6", "If-Range": "a", "Accept-Encoding": "gzip" } });
  const [one] = world.seen;
  expect(["range", "if-range", "accept-encoding"].map((name) => valuesOf(one as Seen, name))).toEqual([
    [],
    [],
    ["identity"],
  ]);
});

test("an answer that is encoded all the same is not had either", async () => {
  const packed = await open({
    answer: () => ({ "content-encoding": "gzip", "x-body": gzipSync(VALUE).toString("hex") }),
  });
  expect(await ask(packed)).toMatchObject({ status: 502 });
  expect((await askHttp2(await openHttp2(packed))).status).toBe(502);
});

test("also a request that gets no secret sees none of its host's, and none of before", async () => {
  const world = await open({ answer: () => `last: ${VALUE}` });
  world.tell({ inject: [{ ...rule, methods: ["POST"] }] });
  expect((await ask(world)).body).toBe(`last: ${stars}`);
  world.tell({ injection: { ...injection, values: { API_KEY: "another-value" } } });
  expect((await ask(world)).body).toBe(`last: ${stars}`);
});

test("a trailer that few writers take ends its stream at most", async () => {
  const trailers = JSON.parse('{"constructor": "a", "__proto__": "b"}') as Record<string, string>;
  const world = await open({ trailers });
  await askHttp2(await openHttp2(world)).catch(() => undefined);
  expect((await ask(world)).status).toBe(200);
});

test("a path that servers read as another one gets nothing, and neither does another method in disguise", async () => {
  const world = await open();
  world.tell({ inject: [{ ...rule, methods: ["GET"], paths: ["/v1/*"] }] });
  for (const path of [
    "/v1/..;/admin",
    "/v1/%u002e%u002e/admin",
    "/v1/..%09/a",
    "/v1/..%20/a",
    "/v1/%ef%bc%8e/a",
  ]) {
    await ask(world, { path });
    expect(`${path} ${valuesOf(world.seen.at(-1) as Seen, "authorization").length}`).toBe(`${path} 0`);
  }
  await ask(world, { path: "/v1/a", headers: { "X-HTTP-Method-Override": "DELETE" } });
  expect(valuesOf(world.seen.at(-1) as Seen, "x-http-method-override")).toEqual([]);
  const socket = await dial(world);
  socket.write(`GET /v1/x#/../../admin HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`);
  socket.resume();
  await once(socket, "close");
  expect(
    world.seen.flatMap((one) => (one.url?.includes("admin") ? valuesOf(one, "authorization") : [])),
  ).toEqual([]);
});

test("a policy that forbids the server's address ends what goes there, also between requests", async () => {
  const world = await open();
  const session = await openHttp2(world);
  expect((await askHttp2(session)).status).toBe(200);
  const ended = once(session, "close");
  world.tell({ deny_cidrs: ["127.78.0.0/16"] });
  await ended;
  expect(world.seen.length).toBe(1);
});

test("what a WebSocket says is searched as well", async () => {
  const world = await open();
  const socket = await dial(world);
  socket.write(
    `GET /live HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n`,
  );
  await once(socket, "data");
  expect(valuesOf(world.seen[0] as Seen, "sec-websocket-extensions")).toEqual([]);
  socket.write(VALUE);
  let said = "";
  socket.on("data", (piece: Buffer) => void (said += piece.toString()));
  await expect.poll(() => said, { timeout: 10_000 }).toBe(stars);
});

test("a head that comes a byte at a time is not waited for for ever", async () => {
  const world = await open();
  const socket = await dial(world);
  socket.on("error", () => undefined).resume();
  socket.write("GET / HTTP/1.1\r\n");
  const drip = setInterval(() => socket.write("X"), 500);
  await once(socket, "close");
  clearInterval(drip);
}, 60_000);

test("streams that are reset while they wait for their turn are no more than may wait", async () => {
  const world = await open();
  const session = await openHttp2(world);
  for (let n = 0; n < 3_000 && !session.destroyed; n += 1) {
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => undefined);
    stream.close();
    if (n % 50 === 0) await sleep(1);
  }
  const other = connectPlain(world.port, "127.0.0.1").on("error", () => undefined);
  other.destroy();
  await expect.poll(() => world.guests.get("127.0.0.1")?.waiting ?? 0, { timeout: 20_000 }).toBe(0);
}, 60_000);
