// The console logs of machines.

import { expect, test } from "vitest";
import type { Machine } from "@skerry/contract/machines/machine";
import { type Answer, eventually, useWorld } from "./support/world.ts";

const world = useWorld();

function act(id: string, what: string): Promise<Answer<Machine>> {
  return world.call<Machine>("POST", `/v1/machines/${id}/${what}`);
}

test("the log of a machine is its last lines, whatever the guest wrote", async () => {
  const { id } = await world.createMachine();
  const log = (query: string) => world.call<{ lines: string[] }>("GET", `/v1/machines/${id}/logs${query}`);
  world.host.console.print(id, "one\r\ntwo\n");
  world.host.console.print(id, Buffer.from([0x66, 0xff, 0x1b, 0x5b, 0x32, 0x4a, 0x0a]));
  expect((await log("")).body.lines).toEqual(["one", "two", "f\ufffd\u001b[2J"]);
  expect((await log("?lines=1")).body.lines).toEqual(["f\ufffd\u001b[2J"]);
  expect((await log("?lines=0")).body.lines).toEqual([]);
  expect((await log("?lines=10001")).status).toBe(400);
  await act(id, "stop");
  expect((await log("?lines=2")).body.lines).toEqual(["two", "f\ufffd\u001b[2J"]);
  world.host.console.print(id, "x".repeat(40_000));
  expect((await log("?lines=2")).body.lines.map((line) => line.length)).toEqual([16_384, 7_232]);
});

test("a log is searched for a plain text, among as many of its last lines as are asked for", async () => {
  const { id } = await world.createMachine();
  const log = (query: string) =>
    world.call<{ lines: string[]; code?: string }>("GET", `/v1/machines/${id}/logs?${query}`);
  world.host.console.print(id, "error: (a+)+$\n");
  world.host.console.print(id, "fine\n".repeat(2_000));
  world.host.console.print(id, "Error\n\u001b[31merror\u001b[0m 2\nhalf an error");
  const found = ["error: (a+)+$", "\u001b[31merror\u001b[0m 2", "half an error"];
  expect((await log("grep=error")).body.lines).toEqual(found);
  expect((await log("grep=error&lines=100")).body.lines).toEqual(found.slice(1));
  expect((await log(`grep=${encodeURIComponent("(a+)+$")}`)).body.lines).toEqual(found.slice(0, 1));
  expect((await log("grep=.*")).body.lines).toEqual([]);
  for (const wrong of ["", "x".repeat(257)]) {
    const { status, body } = await log(`grep=${wrong}`);
    expect([status, body.code]).toEqual([400, "bad_request"]);
  }
});

test("a search holds no more of a flood than its last lines, and finds what came last", async () => {
  const { id } = await world.createMachine();
  world.host.console.print(id, "y".repeat(3 << 20));
  world.host.console.print(id, `\n${"flood\n".repeat(100_000)}needle\n`);
  const log = (grep: string) =>
    world.call<{ lines: string[] }>("GET", `/v1/machines/${id}/logs?grep=${grep}`);
  expect((await log("needle")).body.lines).toEqual(["needle"]);
  expect((await log("flood")).body.lines).toHaveLength(9_999);
  expect((await log("yy")).body.lines).toEqual([]);
});

test("a followed log is searched as well, also in what comes", async () => {
  const { id } = await world.createMachine();
  world.host.console.print(id, "ready 1\nidle\n");
  const response = await fetch(`${world.url}/v1/machines/${id}/logs?follow=true&grep=ready`, {
    headers: { authorization: `Bearer ${world.token}` },
  });
  const text = response.text();
  await eventually(() => world.host.console.followers(id) === 1, "the log is followed");
  world.host.console.print(id, "idle\nrea");
  world.host.console.print(id, "dy 2\n");
  await world.call("DELETE", `/v1/machines/${id}`);
  expect((await text).split("\n\n").filter((event) => event !== "")).toEqual([
    'event: line\ndata: {"line":"ready 1"}',
    'event: line\ndata: {"line":"ready 2"}',
    "event: end\ndata: {}",
  ]);
});

test("a followed log goes on over a restart and ends with the machine", async () => {
  const { id } = await world.createMachine();
  world.host.console.print(id, "before\n");
  const response = await fetch(`${world.url}/v1/machines/${id}/logs?follow=true&lines=1`, {
    headers: { authorization: `Bearer ${world.token}` },
  });
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const text = response.text();
  await eventually(() => world.host.console.followers(id) === 1, "the log is followed");
  await act(id, "restart");
  world.host.console.print(id, "af");
  world.host.console.print(id, "ter\nunfinished");
  await world.call("DELETE", `/v1/machines/${id}`);
  expect((await text).split("\n\n").filter((event) => event !== "")).toEqual([
    'event: line\ndata: {"line":"before"}',
    'event: line\ndata: {"line":"after"}',
    'event: line\ndata: {"line":"unfinished"}',
    "event: end\ndata: {}",
  ]);
});

test("whoever leaves a followed log leaves nothing behind on the host", async () => {
  const { id } = await world.createMachine();
  const gone = new AbortController();
  const response = await fetch(`${world.url}/v1/machines/${id}/logs?follow=true`, {
    headers: { authorization: `Bearer ${world.token}` },
    signal: gone.signal,
  });
  expect(response.status).toBe(200);
  await eventually(() => world.host.console.followers(id) === 1, "the log is followed");
  gone.abort();
  await eventually(() => world.host.console.followers(id) === 0, "the host is left");
  const ofRequest = () =>
    world.log.filter(({ request_id }) => request_id === response.headers.get("x-request-id"));
  await eventually(() => ofRequest().some(({ msg }) => msg === "request"), "the request is logged");
  expect(ofRequest().filter(({ level }) => Number(level) > 30)).toEqual([]);
});

test("a token that is revoked ends the log that it follows, and says why", async () => {
  const { id } = await world.createMachine();
  const minted = await world.call<{ id: string; token: string }>("POST", "/v1/auth/tokens", { body: {} });
  const response = await fetch(`${world.url}/v1/machines/${id}/logs?follow=true`, {
    headers: { authorization: `Bearer ${minted.body.token}` },
  });
  const text = response.text();
  await eventually(() => world.host.console.followers(id) === 1, "the log is followed");
  await world.call("DELETE", `/v1/auth/tokens/${minted.body.id}`);
  expect(await text).toMatch(/^event: error\ndata: {"code":"unauthorized"/);
  await eventually(() => world.host.console.followers(id) === 0, "the host is left");
});

test("lines have the time at which they began, are chosen by it, and a kernel's are left out where asked", async () => {
  const { id } = await world.createMachine();
  const log = async (query: string) => {
    const answer = await world.call<{ lines: string[]; code?: string }>(
      "GET",
      `/v1/machines/${id}/logs?${query}`,
    );
    return answer.status === 200 ? answer.body.lines : [answer.status, answer.body.code];
  };
  const at = (second: number) => Date.parse("2026-11-28T10:00:00.000Z") + second * 1_000;
  const piece = (text: string, second?: number) => ({
    bytes: Buffer.from(text),
    atMs: second === undefined ? undefined : at(second),
  });
  world.host.console.timed = [
    piece("old\n"),
    piece("[    0.000000] Linux\nready\nha", 1),
    piece("lf\n2026-11-28T23:00:00.000Z forged\n", 2),
    piece("[1.2] mine\nlast", 3),
  ];
  expect(await log("timestamps=true&kernel=false")).toEqual([
    "- old",
    "2026-11-28T10:00:01.000Z ready",
    "2026-11-28T10:00:01.000Z half",
    "2026-11-28T10:00:02.000Z 2026-11-28T23:00:00.000Z forged",
    "2026-11-28T10:00:03.000Z [1.2] mine",
    "2026-11-28T10:00:03.000Z last",
  ]);
  expect((await log(""))[1]).toBe("[    0.000000] Linux");
  expect(await log("since=2026-11-28T10:00:02Z&until=2026-11-28T10:00:03Z")).toEqual([
    "2026-11-28T23:00:00.000Z forged",
  ]);
  expect(await log("until=2026-11-28T10:00:02Z&kernel=false&lines=2")).toEqual(["ready", "half"]);
  for (const wrong of ["since=yesterday", "until=2026-11-28T10:00:02Z&follow=true"])
    expect(await log(wrong)).toEqual([400, "bad_request"]);
  world.host.console.timed = undefined;
  world.host.console.print(id, "of a host of the version before\n");
  expect(await log("timestamps=true")).toEqual(["- of a host of the version before"]);
  expect(await log("since=2026-11-28T10:00:02Z")).toEqual([]);
});
