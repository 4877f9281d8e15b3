// Several hosts under one control plane, all on this machine, each with its own state folder, name and addresses. The second one is behind
// a link of its own, which is cut.

import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { HostInfo } from "@skerry/contract/host-api/host-info";
import type { Machine, Sandbox } from "../packages/sdk/src/skerry.ts";
import { makeAuthority } from "../packages/control/src/joining/x509.ts";
import { qemuProcesses } from "./support/leftovers.ts";
import { MachineApart } from "./support/machine-apart.ts";
import {
  freePort,
  nothingWaits,
  qemuPidOf,
  serverPid,
  skerry,
  startPlatform,
  until,
  type Platform,
} from "./support/platform.ts";
import { run } from "./support/run.ts";
import { joinHost, newHostFolder, type SecondHost } from "./support/second-host.ts";

/** What the issue of a lost host promises, from its last heartbeat on. */
const OFFLINE_WITHIN_MS = 45_000;

let apart: MachineApart;
let platform: Platform;
let second: SecondHost;

beforeAll(async () => {
  apart = await MachineApart.open();
  const env = {
    // So that hosts can send VMs to this one too.
    SKERRY_HOST_LISTEN: `${apart.here}:7071`,
    SKERRY_CERTIFICATES_INTERVAL_MS: "1000",
    SKERRY_LISTEN: `${apart.here}:${await freePort()}`,
    SKERRY_VM_MEMORY_MIB: "2048",
    SKERRY_DRAIN_INTERVAL_MS: "1000",
    ...nothingWaits,
  };
  platform = await startPlatform({ assets: inject("assets"), env });
  second = await joinHost(platform, { on: apart });
});

afterAll(async () => {
  await second?.stop();
  await platform?.stop();
  await apart?.[Symbol.asyncDispose]();
});

const COUNT = "while true; do date +%s >> /root/ticks; sleep 1; done";

interface Landing<Vm> {
  readonly make: () => Promise<Vm>;
  readonly hostOf: (vm: Vm) => string | null;
  readonly drop: (vm: Vm) => Promise<unknown>;
}

/** The first that lands on the second host, or elsewhere. Both hosts have as much room, and the emptier one gets the next VM. */
async function landing<Vm>(onSecond: boolean, { make, hostOf, drop }: Landing<Vm>): Promise<Vm> {
  const others: Vm[] = [];
  try {
    for (;;) {
      const made = await make();
      if ((hostOf(made) === second.id) === onSecond) return made;
      others.push(made);
    }
  } finally {
    await Promise.all(others.map(drop));
  }
}

const newSandbox = () => platform.client.sandboxes.create({ template: "base", timeout: "1h" });
const sandboxes: Landing<Sandbox> = {
  make: newSandbox,
  hostOf: ({ info }) => info.host_id,
  drop: (sandbox) => sandbox.destroy(),
};
const machines: Landing<Machine> = {
  make: () =>
    platform.client.machines.create({ template: "base", command: COUNT, restart: { policy: "no" } }),
  hostOf: ({ host_id }) => host_id,
  drop: ({ id }) => platform.client.machines.destroy(id),
};

/** Of the host's own record. */
const farPid = (id: string) => qemuPidOf({ state: second.env["SKERRY_STATE"] ?? "" }, id);

/** Seconds that a guest has counted. */
async function ticksOf(look: () => Promise<{ readonly stdout: string }>): Promise<number[]> {
  return (await look()).stdout.trim().split("\n").map(Number);
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
  const far = await landing(true, sandboxes);
  const content = new Uint8Array(3_000_000).map((_, index) => (index * 7) % 251);
  await far.upload("/root/data", content);
  const { stdout } = await far.execute("sha256sum < /root/data; hostname");
  expect(stdout).toBe(
    `${createHash("sha256").update(content).digest("hex")}  -\n${far.id.replace("_", "-")}\n`,
  );
  await far.destroy();
  expect(await qemuProcesses(second.instance)).toEqual([]);
});

test("behind a cut link a host is offline and what it runs cannot be reached; back again, what lives goes on and nothing runs twice", async () => {
  const near = await landing(false, sandboxes);
  const far = await landing(true, sandboxes);
  const dying = await landing(true, sandboxes);
  const machine = await landing(true, machines);
  const machineStatus = async () => (await platform.client.machines.get(machine.id)).status;
  await far.execute(`(${COUNT}) > /dev/null 2>&1 &`);
  const pids = await Promise.all([farPid(far.id), farPid(machine.id)]);
  await apart.cut();
  const cutAtMs = performance.now();
  // What happens on it meanwhile, control cannot see: a VM dies, and the host's own processes are started anew.
  process.kill(await farPid(dying.id), "SIGKILL");
  await second.kill();
  await second.start();

  await until("what it runs is unreachable", async () => (await statusOf(far)) === "unreachable");
  expect(performance.now() - cutAtMs).toBeLessThan(OFFLINE_WITHIN_MS);
  expect((await platform.client.status()).hosts).toMatchObject({ online: 1, offline: 1 });
  const lost = await platform.client.sandboxes.get(far.id);
  expect(lost.info.reason).toBe(`host_offline: its host ${second.name} is offline`);
  expect(await machineStatus()).toBe("failed");
  await expect(far.execute("true")).rejects.toMatchObject({ code: "host_unavailable" });
  for (const sandbox of [near, await newSandbox()]) {
    expect(sandbox.info.host_id).not.toBe(second.id);
    expect((await sandbox.execute("echo well")).stdout).toBe("well\n");
  }

  await apart.mend();
  await until("the host is back", async () => (await platform.client.status()).hosts.online === 2);
  await until("its sandbox runs again", async () => (await statusOf(far)) === "running");
  await until("its machine runs again", async () => (await machineStatus()) === "running");
  await until("the one that died has failed", async () => (await statusOf(dying)) === "failed");
  // They had never stopped.
  expect(await Promise.all([farPid(far.id), farPid(machine.id)])).toEqual(pids);
  expect(await qemuProcesses(second.instance)).toHaveLength(2);
  for (const look of [
    () => far.execute("cat /root/ticks"),
    () => platform.client.machines.execute(machine.id, "cat /root/ticks"),
  ]) {
    const ticks = await ticksOf(look);
    const gaps = ticks.slice(1).map((tick, index) => tick - (ticks[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(15);
  }
  await platform.client.machines.destroy(machine.id);
  for await (const sandbox of platform.client.sandboxes.list()) await sandbox.destroy();
  expect(await qemuProcesses(second.instance)).toEqual([]);
});

async function drainSecond(): Promise<void> {
  await platform.client.hosts.drain(second.id);
  await until(
    "the host is empty",
    async () => (await platform.client.hosts.get(second.id)).status === "maintenance",
    120_000,
  );
}

test("a drained host's VMs go on elsewhere, sent from machine to machine", async () => {
  const far = await landing(true, sandboxes);
  await far.execute(`(${COUNT}) > /dev/null 2>&1 &`);
  await drainSecond();
  expect(await qemuProcesses(second.instance)).toEqual([]);
  const moved = await platform.client.sandboxes.get(far.id);
  expect(moved.info).toMatchObject({ status: "running", reason: null });
  expect(moved.info.host_id).not.toBe(second.id);
  const before = await ticksOf(() => far.execute("cat /root/ticks"));
  await until("it counts on", async () => {
    return (await ticksOf(() => far.execute("cat /root/ticks"))).length > before.length + 2;
  });
  await far.destroy();
  await platform.client.hosts.activate(second.id);
  await landing(true, sandboxes).then((sandbox) => sandbox.destroy());
});

test("the authority is changed while control calls hosts, and then hosts send VMs to each other by certificates of the new one", async () => {
  const { hosts } = platform.client;
  const far = await landing(true, sandboxes);
  const before = await hosts.authority();
  expect(await hosts.rotateAuthority()).toMatchObject({
    rotation: "announcing",
    fingerprint: before.fingerprint,
  });
  await until("the authority is changed", async () => {
    expect((await far.execute("echo there")).stdout).toBe("there\n");
    return (await hosts.authority()).rotation === "none";
  });
  expect((await hosts.authority()).fingerprint).not.toBe(before.fingerprint);
  // Control's connections from before would go on without any trust.
  process.kill(await serverPid(platform, "control"), "SIGKILL");
  await until("control is back", async () => (await hosts.authority().catch(() => undefined)) !== undefined);
  await drainSecond();
  expect((await far.execute("echo here")).stdout).toBe("here\n");
  expect((await platform.client.sandboxes.get(far.id)).info.host_id).not.toBe(second.id);
  await far.destroy();
  await hosts.activate(second.id);
});

test("who is in between cannot make a machine its host, and a token is for one machine", async () => {
  const newToken = async () => (await skerry(platform.env, "host", "token")).trim();
  const third = await newHostFolder(platform);
  const ports = [await freePort(), await freePort()];
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
      `127.0.0.1:${ports[0]}`,
    );
  const inPlace = await impostor(platform.apiUrl, (_right, own) => own);
  // A host would trust both.
  const behind = await impostor(platform.apiUrl, (right, own) => right + own);
  try {
    for (const between of [inPlace, behind]) {
      const seen = await newToken();
      await expect(join(between.url, seen)).rejects.toThrow("wrong_authority");
      expect(between.heard.join("")).not.toContain(seen.split(".")[1]);
    }
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
      `127.0.0.1:${ports[1]}`,
    ];
    await expect(skerry(again.env, "host", "join", ...flags)).rejects.toThrow("join_token_used");
    await skerry(again.env, "down");
    await run("rm", "-r", again.folder);
  } finally {
    for (const { server } of [inPlace, behind]) server.close();
    await skerry(third.env, "down");
    await run("rm", "-r", third.folder);
  }
});

/** Passes every request on, and brings an authority of its own in or behind the place of control's. */
async function impostor(
  apiUrl: string,
  authorities: (right: string, own: string) => string,
): Promise<{ url: string; server: Server; heard: string[] }> {
  const heard: string[] = [];
  const { certificate: own } = makeAuthority();
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      heard.push(body);
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`${apiUrl}${request.url}`, { method: "POST", headers, body });
      const content = (await answer.json()) as { authority: string };
      const authority = authorities(content.authority, own);
      response.writeHead(answer.status, headers).end(JSON.stringify({ ...content, authority }));
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, heard };
}
