// Logs of apps that are followed, with a fake host's consoles.

import { once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { buildServer, type Server } from "../src/app/server.ts";
import { OpenStreams } from "../src/vms/open-streams.ts";
import { useApps } from "./support/apps.ts";
import { FollowedLog } from "./support/followed-log.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
const { turn, newApp, getApp, deploy, untilLive } = useApps(world);
const followers: FollowedLog[] = [];
const { console } = world.host;

beforeEach(() => {
  console.isPlaced = true;
  console.asked.length = 0;
});
afterEach(async () => {
  await Promise.all(followers.splice(0).map((one) => one.leave()));
  console.isAway = false;
  console.isPlaced = false;
  console.timed = undefined;
});

async function follow(query = "", url = world.url): Promise<FollowedLog> {
  const follower = await FollowedLog.open(world, query, url);
  followers.push(follower);
  return follower;
}

const machines = async () => (await getApp()).instances.map(({ machine_id }) => machine_id);

async function oneInstance(): Promise<string> {
  await newApp();
  await untilLive(await deploy());
  const [id = ""] = await machines();
  return id;
}

test("the last lines come first, then each as it comes, also of instances that start, and of those that end to the last", async () => {
  const old = await oneInstance();
  console.print(old, "one\ntwo\nthree\nfo");
  const log = await follow("&lines=2");
  await log.until(["two", "three"]);
  await log.untilEvent("synced");
  console.print(old, "ur\n[    0.000000] a kernel\nERROR five\n");
  await log.until(["two", "three", "four", "ERROR five"]);
  expect(log.lines.at(-1)).toMatchObject({ instance: "web.1", machine_id: old, release: 1, level: "error" });
  const second = await deploy();
  await turn();
  console.print(old, "six\nunfinished");
  await untilLive(second);
  expect(world.host.vms.has(old)).toBe(false);
  const [fresh = ""] = await machines();
  console.print(fresh, "seven\n");
  await eventually(() => log.texts.includes("seven"), "the new instance is followed");
  await eventually(() => log.texts.includes("unfinished"), "the old one is read to its end");
  expect(log.texts.toSorted()).toEqual(
    ["two", "three", "four", "ERROR five", "six", "unfinished", "seven"].toSorted(),
  );
  await world.call("DELETE", "/v1/apps/shop");
  for (let turns = 0; turns < 6; turns += 1) await turn();
  await log.ended;
  expect(log.events.at(-1)).toBe("end");
});

test("a client that comes back with its cursor has each line once, also of what has begun and ended meanwhile", async () => {
  const old = await oneInstance();
  console.print(old, "one\ntwo\n");
  const first = await follow();
  await first.until(["one", "two"]);
  await first.untilEvent("synced");
  console.print(old, "three\n");
  await first.until(["one", "two", "three"]);
  await first.leave();
  await eventually(() => console.followers(old) === 0, "the host is left");
  console.print(old, "four\n");
  await untilLive(await deploy());
  const [middle = ""] = await machines();
  console.print(middle, "five\n");
  await untilLive(await deploy());
  const [last = ""] = await machines();
  console.print(last, "six\n");
  const again = await follow(first.after);
  await eventually(() => again.lines.length >= 3, "the rest comes");
  expect(again.lines.map(({ line, machine_id }) => `${line} ${machine_id}`).toSorted()).toEqual(
    [`four ${old}`, `five ${middle}`, `six ${last}`].toSorted(),
  );
  await again.leave();
  // Logs of instances that are gone, which it has read, are not read again.
  const third = await follow(again.after);
  console.print(last, "seven\n");
  await third.until(["seven"]);
});

test("a server that stops says so with a cursor, and another one goes on from it", async () => {
  const id = await oneInstance();
  console.print(id, "one\n");
  const server: Server = await buildServer(world.contextWith({}));
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = server.app.server.address() as AddressInfo;
  const log = await follow("", `http://127.0.0.1:${port}`);
  await log.until(["one"]);
  await log.untilEvent("synced");
  console.print(id, "two\n");
  await log.until(["one", "two"]);
  const stopped = server.stop(5_000);
  await log.ended;
  await stopped;
  expect(log.others.at(-1)).toMatchObject({ event: "reset", data: { reason: "shutting_down" } });
  console.print(id, "three\n");
  const again = await follow(log.after);
  console.print(id, "four\n");
  await again.until(["three", "four"]);
});

test("a host that goes away in the middle is asked for what is missing, and is told of meanwhile", async () => {
  const id = await oneInstance();
  console.print(id, "one\n");
  const log = await follow();
  await log.until(["one"]);
  await eventually(() => console.followers(id) === 1, "the log is followed");
  console.print(id, "two\nth");
  await log.until(["one", "two"]);
  console.isAway = true;
  console.cut(id);
  console.print(id, "ree\nfour\n");
  const other = await follow("&lines=1");
  await other.untilEvent("synced");
  expect(other.others[0]?.data["unavailable"]).toEqual(["web.1"]);
  console.isAway = false;
  await log.until(["one", "two", "three", "four"]);
  // It asks from the beginning of the line that was not finished. The other follower has no place yet.
  const asked = console.asked.filter((one) => !one.includes("lines=") && one !== `${id} 0`);
  expect(asked).toEqual([`${id} 4`, `${id} 8`]);
});

test.each([
  ["that tells times alone", 3],
  ["that tells nothing", undefined],
])("a host of a version before %s is followed, too", async (_what, times) => {
  console.isPlaced = false;
  const id = await oneInstance();
  console.print(id, "one\n");
  if (times !== undefined)
    console.timed = [1, 2, 2].map((at, index) => ({
      bytes: Buffer.from(`line ${index}\n`),
      atMs: Date.parse("2026-11-28T10:00:00.000Z") + at,
    }));
  const log = await follow();
  const before = times === undefined ? ["one"] : ["line 0", "line 1", "line 2"];
  await log.until(before);
  if (times === undefined) console.print(id, "two\n");
  else
    console.timed = [
      ...(console.timed ?? []),
      { bytes: Buffer.from("two\n"), atMs: Date.parse("2026-11-28T10:00:00.002Z") },
    ];
  await log.until([...before, "two"]);
});

test("a client that does not read slows its log down, and nothing is piled up for it", async () => {
  const id = await oneInstance();
  const { port } = world.server.app.server.address() as AddressInfo;
  const socket = connect({ host: "127.0.0.1", port });
  await once(socket, "connect");
  socket.pause();
  socket.write(
    `GET /v1/apps/shop/logs?follow=true HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${world.token}\r\n\r\n`,
  );
  await eventually(() => console.followers(id) === 1, "the log is followed");
  const bytes = 64 * 1024 * 1024;
  const chunk = `${"x".repeat(1_023)}\n`.repeat(1_024);
  for (let sent = 0; sent < bytes; sent += chunk.length) console.print(id, chunk);
  // The kernel's buffers on both ways hold a few MiB, and control less.
  let [left, looks] = [Infinity, 0];
  await eventually(() => {
    looks = console.unsent(id) === left ? looks + 1 : 0;
    left = console.unsent(id);
    return looks === 25;
  }, "nothing moves any more");
  expect(left).toBeGreaterThan(bytes / 2);
  socket.destroy();
  await eventually(() => console.followers(id) === 0, "the host is left");
});

test("followers are bounded, and their places are given back", async () => {
  const id = await oneInstance();
  const openStreams = new OpenStreams("streams", { perVm: 2, perOrganization: 5 });
  const server = await buildServer(world.contextWith({ openStreams }));
  world.after(() => server.stop(0));
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(server.app.server.address() as AddressInfo).port}`;
  const two = [await follow("", url), await follow("", url)];
  await eventually(() => console.followers(id) === 2, "both follow");
  const refused = await world.call("GET", "/v1/apps/shop/logs?follow=true", { url });
  expect([refused.status, refused.body["code"]]).toEqual([429, "too_many_streams"]);
  await two[0]?.leave();
  await eventually(() => console.followers(id) === 1, "one has left");
  console.print(id, "here\n");
  const again = await follow("", url);
  await again.until(["here"]);
});

test("a token that is revoked ends the log that it follows, and says why", async () => {
  const id = await oneInstance();
  const minted = await world.call<{ id: string; token: string }>("POST", "/v1/auth/tokens", { body: {} });
  const response = await fetch(`${world.url}/v1/apps/shop/logs?follow=true`, {
    headers: { authorization: `Bearer ${minted.body.token}` },
  });
  const text = response.text();
  await eventually(() => console.followers(id) === 1, "the log is followed");
  await world.call("DELETE", `/v1/auth/tokens/${minted.body.id}`);
  expect(await text).toMatch(/event: error\ndata: {"code":"unauthorized"/);
  await eventually(() => console.followers(id) === 0, "the host is left");
});

test("only lines that are asked for come, and the cursor passes over the others", async () => {
  const id = await oneInstance();
  const log = await follow("&level=warn&grep=disk");
  await log.untilEvent("synced");
  console.print(id, "ERROR disk\nERROR net\nWARN disk\ndisk\n");
  await log.until(["ERROR disk", "WARN disk"]);
  const other = await follow("&group=worker");
  await other.untilEvent("synced");
  expect(other.others[0]?.data["cursor"]).not.toContain("mch_");
});

test.each([
  ["follow=true&until=2026-11-20T10:00:00Z", "until"],
  ["after=1", "after"],
  ["follow=true&after=x", "after"],
  ["follow=true&after=1,mch_1:2", "after"],
  ["follow=true&after=1,mch_01kb3x9c1e3g5j7m9p1r3t5v7x:2:3", "after"],
  ["follow=true&after=1,mch_01kb3x9c1e3g5j7m9p1r3t5v7x:t", "after"],
])("%j is refused", async (query, field) => {
  await newApp();
  const answer = await world.call("GET", `/v1/apps/shop/logs?${query}`);
  expect([answer.status, answer.body["context"]]).toEqual([400, { field }]);
});

test("a cursor that names another organization's machine tells nothing of it", async () => {
  const id = await oneInstance();
  console.print(id, "hush\n");
  const token = await world.strangerToken();
  await world.call("POST", "/v1/apps", { body: { name: "shop" }, token });
  const gone = new AbortController();
  const response = await fetch(`${world.url}/v1/apps/shop/logs?follow=true&after=1,${id}:0`, {
    headers: { authorization: `Bearer ${token}` },
    signal: gone.signal,
  });
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  gone.abort();
  expect(Buffer.from(value ?? []).toString()).toMatch(
    /^event: synced\ndata: {"cursor":"\d+","unavailable":\[\]}\n\n$/,
  );
});
