// Requests that a client sends without waiting for the answers to those before.

import { expect, test } from "vitest";
import { send } from "./support/raw-requests.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

/** The last request on its connection. */
const last = () =>
  `GET /v1/sizes HTTP/1.1\r\nhost: s\r\nconnection: close\r\nauthorization: Bearer ${world.token}\r\n\r\n`;

const AHEAD_MAX = 16;

/** Paths of the requests that were done with since. */
const servedSince = (logged: number) =>
  world.log.slice(logged).flatMap(({ msg, path }) => (msg === "request" ? [path] : []));

test("a client that does not wait for answers has a bounded number of requests served at once, and others are served beside it", async () => {
  const { connectionsRefused } = world.context.metrics;
  const refusals = () =>
    [...connectionsRefused.samples()].find(({ labels }) => labels[0]?.[1] === "pipelined")?.value;
  const [logged, before] = [world.log.length, refusals()];
  const one = `GET /v1/hidden HTTP/1.1\r\nhost: s\r\n\r\n`;
  await send(world.server, one.repeat(1_000));
  await send(world.server, last());
  const served = servedSince(logged);
  expect(served.filter((path) => path !== "/v1/sizes")).toHaveLength(AHEAD_MAX);
  expect(served.at(-1)).toBe("/v1/sizes");
  expect(refusals()).toBe((before ?? 0) + 1);
  const answers = await send(world.server, one.repeat(AHEAD_MAX - 1) + last());
  expect(answers.map(({ status }) => status)).toEqual([
    ...Array.from({ length: AHEAD_MAX - 1 }, () => 404),
    200,
  ]);
});
