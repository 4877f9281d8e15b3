// Apps on two hosts of one cluster: each proxy serves instances of both, and a host that is drained takes no
// request with it.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Host } from "../packages/sdk/src/skerry.ts";
import {
  eagerServices,
  freePort,
  nothingWaits,
  startPlatform,
  until,
  type Platform,
} from "./support/platform.ts";
import { run } from "./support/run.ts";
import { joinHost, type SecondHost } from "./support/second-host.ts";

let platform: Platform;
let second: SecondHost;
let first: string;
const [near, far] = [await freePort(), await freePort()];

beforeAll(async () => {
  platform = await startPlatform({
    assets: inject("assets"),
    env: {
      ...{ ...eagerServices, ...nothingWaits, SKERRY_HOST_LISTEN: `127.0.0.1:${await freePort()}` },
      ...{ SKERRY_EDGE_HTTP: `127.0.0.1:${near}`, SKERRY_EDGE_INNER: `127.0.0.1:${await freePort()}` },
    },
  });
  const env = { SKERRY_EDGE_HTTP: `127.0.0.1:${far}`, SKERRY_EDGE_INNER: `127.0.0.1:${await freePort()}` };
  second = await joinHost(platform, { env });
  await until("both hosts are online", async () => {
    const hosts: Host[] = [];
    for await (const host of platform.client.hosts.list()) hosts.push(host);
    first = hosts.find(({ id }) => id !== second.id)?.id ?? "";
    return hosts.length === 2 && hosts.every(({ status }) => status === "online");
  });
});

afterAll(async () => {
  await second?.stop();
  await platform.stop();
});

async function ask(port: number): Promise<string> {
  const words = ["-s", "-m", "30", "-w", "%{http_code}", "-H", "Host: shop.localhost"];
  return run("curl", ...words, `http://127.0.0.1:${port}/`).catch((error: unknown) => String(error));
}

/** Hosts of instances that serve. */
async function places(): Promise<string[]> {
  const { instances } = await platform.client.apps.get("shop");
  const serving = instances.filter(({ state }) => state === "serving");
  const machines = await Promise.all(serving.map(({ machine_id: id }) => platform.client.machines.get(id)));
  return machines.map(({ host_id }) => host_id ?? "none");
}

test("both proxies serve an instance of one host, and a drain replaces it on the other one without a failed request", async () => {
  const { apps, hosts } = platform.client;
  await hosts.drain(second.id);
  await apps.create({ name: "shop" });
  await apps.deploy("shop", {
    template: "base",
    processes: {
      web: {
        command: "mkdir -p /srv && cd /srv && echo open >index.html && exec python3 -m http.server 8080",
      },
    },
    services: [{ group: "web", port: 8080, check: { path: "/", port: 8080, interval: "1s" } }],
  });
  await until("it is live", async () => (await apps.get("shop")).release === 1);
  expect(await places()).toEqual([first]);
  await until("it is served where it is", async () => (await ask(near)) === "open\n200");
  await until("it is served from the other host", async () => (await ask(far)) === "open\n200");
  await hosts.activate(second.id);
  const state = { isOver: false };
  const seen = new Map<string, number>();
  const loads = [near, far].map(async (port) => {
    while (!state.isOver) {
      const answer = await ask(port);
      seen.set(answer, (seen.get(answer) ?? 0) + 1);
    }
  });
  await sleep(500);
  await hosts.drain(first);
  await until("it is on the other host", async () => (await places()).join() === second.id, 120_000);
  await until(
    "nothing is left on the first",
    async () => (await hosts.get(first)).status === "maintenance",
    120_000,
  );
  state.isOver = true;
  await Promise.all(loads);
  expect([...seen.keys()]).toEqual(["open\n200"]);
  await apps.delete("shop");
});
