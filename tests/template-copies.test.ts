// Templates of organizations on two hosts: what one of them has built runs on the other one, and what runs of it moves there.

import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Host, Sandbox } from "../packages/sdk/src/skerry.ts";
import {
  eagerServices,
  freePort,
  nothingWaits,
  startPlatform,
  until,
  type Platform,
} from "./support/platform.ts";
import { joinHost, type SecondHost } from "./support/second-host.ts";

const TIMEOUT_MS = 600_000;
const alone = { size: "shared-cpu-1x", egress: { mode: "deny_all" } } as const;

let platform: Platform;
let second: SecondHost;

beforeAll(async () => {
  // Each host sends what the other one lacks.
  const listen = `127.0.0.1:${await freePort()}`;
  const env = { ...eagerServices, ...nothingWaits, SKERRY_HOST_LISTEN: listen };
  platform = await startPlatform({ assets: inject("assets"), env });
  second = await joinHost(platform);
  await until("both hosts are online", async () =>
    (await hosts()).every(({ status }) => status === "online"),
  );
});

afterAll(async () => {
  await second?.stop();
  await platform.stop();
});

async function hosts(): Promise<Host[]> {
  const all: Host[] = [];
  for await (const host of platform.client.hosts.list()) all.push(host);
  return all;
}

const create = (name: string): Promise<Sandbox> =>
  platform.client.sandboxes.create({ template: name, timeout: "1h", egress: { mode: "deny_all" } });

test(
  "what was made of a template moves to a host that has never had it, and more is made and booted there",
  async () => {
    const build = await platform.client.templates.build({
      ...{ name: "web", ...alone },
      steps: [{ workdir: "/srv" }, { env: { MODE: "test" } }, { run: "echo $MODE > made" }],
    });
    expect(build).toMatchObject({ status: "ready", error: null });
    const before = await create("web");
    await before.execute(
      "echo kept > kept; (while true; do echo >> /tmp/ticks; sleep 0.1; done) >/dev/null 2>&1 &",
    );
    const from = before.info.host_id ?? "";
    const { machines } = platform.client;
    const { id: machine, host_id } = await machines.create({ template: "web", size: "shared-cpu-1x" });
    expect(host_id).toBe(from);

    await platform.client.hosts.drain(from);
    // It waits until the other host has the template.
    const after = await create("web");
    expect(after.info.host_id).not.toBe(from);
    expect(await after.execute("cat made; pwd; echo $MODE")).toMatchObject({ stdout: "test\n/srv\ntest\n" });
    await until(
      "nothing is left on the host",
      async () => (await platform.client.hosts.get(from)).status === "maintenance",
      240_000,
    );
    expect((await platform.client.sandboxes.get(before.id)).info.host_id).not.toBe(from);
    const ticks = async () => Number((await before.execute("wc -l < /tmp/ticks")).stdout);
    const seen = await ticks();
    await until("it goes on counting", async () => (await ticks()) > seen);
    expect(await before.execute("cat kept made; pwd; echo $MODE")).toMatchObject({
      stdout: "kept\ntest\n/srv\ntest\n",
    });
    // It boots from its disk on a host that has not built its template.
    await machines.execute(machine, "echo kept > kept");
    await machines.stop(machine);
    expect((await machines.start(machine)).host_id).not.toBe(from);
    expect(await machines.execute(machine, "cat kept; pwd; echo $MODE")).toMatchObject({
      stdout: "kept\n/srv\ntest\n",
    });
    await machines.destroy(machine);
    for (const one of [before, after]) await one.destroy();
    await platform.client.templates.delete("web");
    await until("both hosts take VMs again", async () => {
      await platform.client.hosts.activate(from);
      return true;
    });
  },
  TIMEOUT_MS,
);
