// A paused sandbox and a snapshot whose host is lost say so, at once and in words, and are there again when the host is.

import { afterEach, beforeEach, expect, test } from "vitest";
import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import { TwoHosts } from "./support/two-hosts.ts";

const OFFLINE = "host_offline: its host second is offline";

let two: TwoHosts;
let sandbox: string;
let snapshot: string;

beforeEach(async () => {
  two = await TwoHosts.open();
  sandbox = "";
  for (let tries = 0; !two.second.vms.has(sandbox) && tries < 20; tries += 1)
    sandbox = (await two.world.createSandbox({ mode: "persistent" })).id;
  snapshot = (await two.world.call<Snapshot>("POST", `/v1/sandboxes/${sandbox}/snapshots`)).body.id;
  expect((await two.world.call("POST", `/v1/sandboxes/${sandbox}/pause`)).status).toBe(200);
  await two.second.stop();
  await two.silence();
  await two.judge();
});

afterEach(() => two[Symbol.asyncDispose]());

async function snapshotShown(): Promise<Snapshot> {
  return (await two.world.call<Snapshot>("GET", `/v1/snapshots/${snapshot}`)).body;
}

async function refused(path: string, body: object = {}): Promise<[number, unknown, unknown]> {
  const answer = await two.world.call("POST", path, { body });
  return [answer.status, answer.body["code"], answer.body["message"]];
}

test("both say that their host is lost, and calls for them are refused with that", async () => {
  expect(await two.sandbox(sandbox)).toMatchObject({ status: "unreachable", reason: OFFLINE });
  expect(await snapshotShown()).toMatchObject({ status: "ready", reason: OFFLINE });
  const { body } = await two.world.call<{ items: Snapshot[] }>("GET", "/v1/snapshots");
  expect(body.items.map(({ reason }) => reason)).toEqual([OFFLINE]);
  const offline = expect.stringContaining("offline") as unknown;
  expect(await refused(`/v1/sandboxes/${sandbox}/resume`)).toEqual([503, "host_unavailable", offline]);
  expect(await refused(`/v1/sandboxes/${sandbox}/execute`, { command: "true" })).toEqual([
    503,
    "host_unavailable",
    offline,
  ]);
  expect(await refused("/v1/sandboxes", { snapshot })).toEqual([503, "host_unavailable", offline]);
});

test("both are there again when their host is", async () => {
  await two.second.start();
  await two.ask();
  await two.cleanUp();
  expect(await two.sandbox(sandbox)).toMatchObject({ status: "paused", reason: null });
  expect(await snapshotShown()).toMatchObject({ status: "ready", reason: null });
});
