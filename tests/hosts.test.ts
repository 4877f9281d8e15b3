// Several hosts under one control plane, all on this machine, each with its own state folder, name and addresses.

import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { HostInfo } from "@skerry/contract/host-api";
import { startPlatform, type Platform } from "./support/platform.ts";
import { run } from "./support/run.ts";
import { joinHost, type SecondHost } from "./support/second-host.ts";

let platform: Platform;
let second: SecondHost;

beforeAll(async () => {
  platform = await startPlatform({ assets: inject("assets") });
  second = await joinHost(platform);
});

afterAll(async () => {
  await second.stop();
  await platform.stop();
});

test("two hosts of one machine do not get in each other's way", async () => {
  const info = JSON.parse(
    await run("curl", "-sf", "--unix-socket", second.socket, "http://host/info"),
  ) as HostInfo;
  expect(info.name).toBe(second.name);
  expect(info.memory_mib).toBe(2048);
});
