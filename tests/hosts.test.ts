// Several hosts under one control plane, all on this machine, each with its own state folder, name and addresses.

import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { HostInfo } from "@skerry/contract/host-api";
import { skerry, startPlatform, type Platform } from "./support/platform.ts";
import { run } from "./support/run.ts";
import { joinHost, type SecondHost } from "./support/second-host.ts";

let platform: Platform;
let second: SecondHost;

beforeAll(async () => {
  platform = await startPlatform({ assets: inject("assets") });
  second = await joinHost(platform);
});

afterAll(async () => {
  await second?.stop();
  await platform.stop();
});

test("two hosts of one machine do not get in each other's way", async () => {
  const info = JSON.parse(
    await run("curl", "-sf", "--unix-socket", second.socket, "http://host/info"),
  ) as HostInfo;
  expect(info).toMatchObject({ name: second.name, memory_mib: 2048, endpoint: second.address });
  expect(await skerry(second.env, "status")).toContain(`its host "${second.name}"`);
});

test("new sandboxes land on both hosts", async () => {
  const sandboxes = await Promise.all(
    Array.from({ length: 6 }, () => platform.client.sandboxes.create({ template: "base", timeout: "10m" })),
  );
  const hosts = new Set(sandboxes.map((sandbox) => sandbox.info.host_id));
  for (const sandbox of sandboxes) {
    expect((await sandbox.execute("echo here")).stdout).toBe("here\n");
    await sandbox.destroy();
  }
  expect(hosts.size).toBe(2);
});
