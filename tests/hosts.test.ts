// Several hosts under one control plane, all on this machine, each with its own state folder, name and addresses. The second one is behind
// a link of its own, which is cut.

import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { HostInfo } from "@skerry/contract/host-api";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { makeAuthority } from "../packages/control/src/services/certificates.ts";
import { qemuProcesses } from "./support/leftovers.ts";
import { MachineApart } from "./support/machine-apart.ts";
import { freePort, qemuPidOf, skerry, startPlatform, until, type Platform } from "./support/platform.ts";
import { run } from "./support/run.ts";
import { joinHost, newHostFolder, type SecondHost } from "./support/second-host.ts";

/** What the issue of a lost host promises, from its last heartbeat on. */
const OFFLINE_WITHIN_MS = 45_000;

let apart: MachineApart;
let platform: Platform;
let second: SecondHost;

beforeAll(async () => {
  apart = await MachineApart.open();
  const env = { SKERRY_LISTEN: `${apart.here}:${await freePort()}` };
  platform = await startPlatform({ assets: inject("assets"), env });
  second = await joinHost(platform, { on: apart });
});

afterAll(async () => {
  await second?.stop();
  await platform?.stop();
  await apart?.[Symbol.asyncDispose]();
});

/** A sandbox on the second host, and one on the first. */
async function oneOnEach(): Promise<{ far: Sandbox; near: Sandbox }> {
  const made: Sandbox[] = [];
  for (;;) {
    made.push(await platform.client.sandboxes.create({ template: "base", timeout: "1h" }));
    const far = made.find(({ info }) => info.host_id === second.id);
    const near = made.find(({ info }) => info.host_id !== second.id);
    if (far === undefined || near === undefined) continue;
    await Promise.all(made.filter((one) => one !== far && one !== near).map((one) => one.destroy()));
    return { far, near };
  }
}

async function statusOf({ id }: Sandbox): Promise<string> {
  return (await platform.client.sandboxes.get(id)).info.status;
}

test("a machine that has joined runs sandboxes like the first, and neither is in the other's way", async () => {
  const info = JSON.parse(
    await run("curl", "-sf", "--unix-socket", second.socket, "http://host/info"),
  ) as HostInfo;
  expect(info).toMatchObject({ name: second.name, memory_mib: 2048, endpoint: second.address });
  expect(await skerry(second.env, "status")).toContain(`its host "${second.name}"`);
  const { far, near } = await oneOnEach();
  const content = new Uint8Array(3_000_000).map((_, index) => (index * 7) % 251);
  for (const sandbox of [far, near]) {
    await sandbox.upload("/root/data", content);
    const { stdout } = await sandbox.execute("sha256sum < /root/data; hostname");
    expect(stdout).toContain(sandbox.id.replace("_", "-"));
    await sandbox.destroy();
  }
  expect(await qemuProcesses(second.instance)).toEqual([]);
});

test("a host behind a cut link is offline, what it ran has failed, and both come back without running twice", async () => {
  const { far, near } = await oneOnEach();
  await far.execute("(while true; do date +%s >> /root/ticks; sleep 1; done) > /dev/null 2>&1 &");
  const pid = await qemuPidOf({ state: second.env["SKERRY_STATE"] ?? "" }, far.id);
  await apart.cut();
  const cutAtMs = performance.now();
  await until("what it ran has failed", async () => (await statusOf(far)) === "failed");
  expect(performance.now() - cutAtMs).toBeLessThan(OFFLINE_WITHIN_MS);
  expect((await platform.client.status()).hosts).toMatchObject({ online: 1, offline: 1 });
  const lost = await platform.client.sandboxes.get(far.id);
  expect(lost.info).toMatchObject({ status: "failed", reason: `its host ${second.name} is offline` });
  await expect(far.execute("true")).rejects.toMatchObject({ code: "sandbox_not_running" });
  expect((await near.execute("echo well")).stdout).toBe("well\n");
  const meanwhile = await platform.client.sandboxes.create({ template: "base", timeout: "5m" });
  expect(meanwhile.info.host_id).not.toBe(second.id);

  await apart.mend();
  await until("the host is back", async () => (await platform.client.status()).hosts.online === 2);
  await until("its sandbox runs again", async () => (await statusOf(far)) === "running");
  // It had never stopped.
  expect(await qemuPidOf({ state: second.env["SKERRY_STATE"] ?? "" }, far.id)).toBe(pid);
  expect(await qemuProcesses(second.instance)).toHaveLength(1);
  const ticks = (await far.execute("cat /root/ticks")).stdout.trim().split("\n").map(Number);
  const gaps = ticks.slice(1).map((tick, index) => tick - (ticks[index] ?? 0));
  expect(Math.max(...gaps)).toBeLessThan(15);
  for (const sandbox of [far, near, meanwhile]) await sandbox.destroy();
});

test("a host that dies with its VMs comes back without them, and nothing is left of them", async () => {
  const { far, near } = await oneOnEach();
  const pid = await qemuPidOf({ state: second.env["SKERRY_STATE"] ?? "" }, far.id);
  await second.kill();
  process.kill(pid, "SIGKILL");
  await until("what it ran has failed", async () => (await statusOf(far)) === "failed");
  await second.start();
  await until("the host is back", async () => (await platform.client.status()).hosts.online === 2);
  // Whether it is taken back is decided when the host has been asked for its list.
  await sleep(2_000);
  expect(await statusOf(far)).toBe("failed");
  expect(await qemuProcesses(second.instance)).toEqual([]);
  await far.destroy();
  expect(await statusOf(far)).toBe("destroyed");
  await near.destroy();
});

test("who is in between cannot make a machine its host, and a token is for one machine", async () => {
  const newToken = async () => (await skerry(platform.env, "host", "token")).trim();
  const third = await newHostFolder(platform);
  const join = (control: string, token: string) =>
    skerry(
      third.env,
      "host",
      "join",
      "--control",
      control,
      "--token",
      token,
      "--name",
      third.name,
      "--address",
      "127.0.0.1:7199",
    );
  const between = await impostor(platform.apiUrl);
  try {
    const seen = await newToken();
    await expect(join(between.url, seen)).rejects.toThrow("wrong_authority");
    expect(between.heard.join("")).not.toContain(seen.split(".")[1]);
    const token = await newToken();
    expect(await join(platform.apiUrl, token)).toMatch(/^hst_/m);
    const again = await newHostFolder(platform);
    const flags = [
      "--control",
      platform.apiUrl,
      "--token",
      token,
      "--name",
      again.name,
      "--address",
      "127.0.0.1:7198",
    ];
    await expect(skerry(again.env, "host", "join", ...flags)).rejects.toThrow("join_token_used");
    await skerry(again.env, "down");
    await run("rm", "-r", again.folder);
  } finally {
    between.server.close();
    await skerry(third.env, "down");
    await run("rm", "-r", third.folder);
  }
});

/** Passes every request on, and puts an authority of its own in the place of control's. */
async function impostor(apiUrl: string): Promise<{ url: string; server: Server; heard: string[] }> {
  const heard: string[] = [];
  const { certificate: authority } = makeAuthority();
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      heard.push(body);
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`${apiUrl}${request.url}`, { method: "POST", headers, body });
      const content = (await answer.json()) as object;
      response.writeHead(answer.status, headers).end(JSON.stringify({ ...content, authority }));
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, heard };
}
