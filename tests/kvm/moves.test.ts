// A guest on KVM moves between two hosts while it runs: its memory is sent while its CPU writes to it, which no emulated guest's is.

import { afterAll, beforeAll, expect, test } from "vitest";
import { qemuProcesses } from "../support/leftovers.ts";
import { freePort, until, type Platform } from "../support/platform.ts";
import { joinHost, type SecondHost } from "../support/second-host.ts";
import {
  clockErrorMs,
  count,
  countsOn,
  create,
  hostsOf,
  kvmSettings,
  outputOf,
  PATIENCE_MS,
  startCounting,
  startKvmPlatform,
} from "./kvm-platform.ts";

let platform: Platform;
let second: SecondHost | undefined;

beforeAll(async () => {
  platform = await startKvmPlatform({ SKERRY_HOST_LISTEN: `127.0.0.1:${await freePort()}` });
  second = await joinHost(platform, { env: kvmSettings() });
  await until(
    "both hosts are online",
    async () => (await hostsOf(platform)).filter(({ status }) => status === "online").length === 2,
    PATIENCE_MS,
  );
}, 3 * PATIENCE_MS);

afterAll(async () => {
  await second?.stop();
  await platform?.stop();
});

test("a sandbox moves there and back: what runs in it goes on, its files and clock are right, and it runs once", async () => {
  await using sandbox = await create(platform);
  await startCounting(sandbox);
  await outputOf(sandbox, "echo kept > /root/kept");
  for (let way = 0; way < 2; way += 1) {
    const from = (await platform.client.sandboxes.get(sandbox.id)).info.host_id ?? "";
    const before = await count(sandbox);
    await platform.client.hosts.drain(from);
    const isEmpty = async () => (await platform.client.hosts.get(from)).status === "maintenance";
    await until("the host is in maintenance", isEmpty, PATIENCE_MS);
    expect((await platform.client.sandboxes.get(sandbox.id)).info.host_id).not.toBe(from);
    await platform.client.hosts.activate(from);
    await countsOn(sandbox, before);
    expect(await outputOf(sandbox, "cat /root/kept")).toBe("kept");
    expect(await clockErrorMs(sandbox)).toBeLessThan(2_000);
    const running = await Promise.all(
      [platform.instance, second?.instance ?? ""].map((instance) => qemuProcesses(instance)),
    );
    expect(running.flat().filter(({ vm }) => vm === sandbox.id)).toHaveLength(1);
  }
});
