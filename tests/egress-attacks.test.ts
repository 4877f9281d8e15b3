// Each way round the firewall that we know of, tried by root in a real guest. What must not arrive is looked for where it would.

import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { namespaces } from "./support/leftovers.ts";
import { qemuPidOf, serverPid, startPlatform, until, type Platform } from "./support/platform.ts";
import { run } from "./support/run.ts";
import { dnsServer, machineAddress, udpPort, World } from "./support/world.ts";

let world: World;
let platform: Platform;
let sandbox: Sandbox;
/** Listens on every address of this machine, as a careless service does. */
let machine: Server;
let machinePort: number;
let machineCalls = 0;

beforeAll(async () => {
  world = await World.open();
  machine = createServer((connection) => {
    machineCalls += 1;
    connection.end("the machine\n");
  });
  await new Promise<void>((resolve) => machine.listen(0, "0.0.0.0", resolve));
  const address = machine.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  machinePort = address.port;
  platform = await startPlatform({
    assets: inject("assets"),
    // Room for fifteen slots, so that they are used again soon.
    env: { SKERRY_DNS_SERVERS: `${dnsServer}:53`, SKERRY_VM_CIDR: "198.18.250.0/27" },
  });
  sandbox = await armed();
});

afterAll(async () => {
  await platform.stop();
  await world[Symbol.asyncDispose]();
  await new Promise((resolve) => machine.close(resolve));
});

beforeEach(async () => {
  await sandbox.setEgress({ mode: "allow_all" });
  world.arrivals.length = 0;
});

/** A sandbox with the attacker's tools in it. */
async function armed(): Promise<Sandbox> {
  const made = await platform.client.sandboxes.create({ template: "base", timeout: "1h" });
  for (const tool of ["probe.py", "forge.py"]) {
    await made.upload(`/root/${tool}`, await readFile(join(import.meta.dirname, "support", tool), "utf8"));
  }
  return made;
}

async function forge(...frames: readonly object[]): Promise<void> {
  const sent = await sandbox.execute(`python3 /root/forge.py '${JSON.stringify(frames)}'`);
  expect(sent).toMatchObject({ exit_code: 0, stderr: "" });
}

async function answers(protocol: string, address: string, port: number, from = sandbox): Promise<boolean> {
  const tried = await from.execute(`python3 /root/probe.py '${JSON.stringify([[protocol, address, port]])}'`);
  return (JSON.parse(tried.stdout) as boolean[])[0] ?? false;
}

/** Sends an honest frame behind the forged ones; when it has arrived, so would they have. */
async function arrivedAfter(forged: readonly object[]): Promise<string[]> {
  await forge(...forged, { to: "203.0.113.99", port: udpPort, text: "honest" });
  await until("the honest frame arrives", async () => world.at("203.0.113.99").length > 0, 10_000);
  return world.arrivals.filter(({ text }) => text !== "honest").map(({ text }) => text);
}

test("a forged source address or MAC goes nowhere, an honest frame does", async () => {
  const to = { to: "203.0.113.10", port: udpPort };
  expect(
    await arrivedAfter([
      { ...to, from: "169.254.0.20", text: "the address of a neighbour" },
      { ...to, from: "203.0.113.66", text: "the address of somebody else" },
      { ...to, from: "127.0.0.1", text: "the address of the machine" },
      { ...to, mac: "02:fc:00:00:00:06", text: "another card" },
    ]),
  ).toEqual([]);
});

test("fragments are decided as what they add up to", async () => {
  await sandbox.setEgress({ mode: "allow_all", deny_cidrs: ["198.51.100.0/24"] });
  const text = "cut into many pieces";
  const arrived = await arrivedAfter([
    { to: "198.51.100.7", port: udpPort, fragments: true, text: "denied" },
    { to: "203.0.113.10", port: udpPort, fragments: true, text },
  ]);
  expect(arrived).toEqual([text]);
});

test("there is no IPv6", async () => {
  expect(await arrivedAfter([{ to: "203.0.113.10", port: udpPort, ipv6: true, text: "six" }])).toEqual([]);
});

test("an allowed port on a denied address, and a denied port on an allowed one, are closed", async () => {
  await sandbox.setEgress({
    allow_cidrs: ["203.0.113.0/24"],
    deny_cidrs: ["203.0.113.10"],
    allow_ports: [80],
  });
  expect(await answers("tcp", "203.0.113.11", 80)).toBe(true);
  expect(await answers("tcp", "203.0.113.10", 80)).toBe(false);
  expect(await answers("tcp", "203.0.113.11", 443)).toBe(false);
  expect(await answers("udp", "203.0.113.11", udpPort)).toBe(false);
});

test("the machine's ports cannot be reached through any of its addresses, not even where a CIDR names them", async () => {
  const own = (await run("hostname", "-I"))
    .trim()
    .split(/\s+/)
    .filter((address) => address.includes("."));
  const addresses = new Set([
    ...own,
    machineAddress,
    "169.254.0.22",
    "127.0.0.1",
    await slotGateway(sandbox),
  ]);
  await sandbox.setEgress({ allow_cidrs: ["10.255.77.0/30", "198.18.0.0/15"] });
  const before = machineCalls;
  for (const address of addresses)
    expect([address, await answers("tcp", address, machinePort)]).toEqual([address, false]);
  await sandbox.setEgress({ mode: "allow_all" });
  for (const address of addresses)
    expect([address, await answers("tcp", address, machinePort)]).toEqual([address, false]);
  expect(machineCalls).toBe(before);
});

test("two sandboxes cannot reach each other", async () => {
  await using other = await armed();
  await other.execute("python3 -m http.server 8080 >/dev/null 2>&1 & sleep 1");
  for (const address of await slotAddresses(other)) {
    expect([address, await answers("tcp", address, 8080)]).toEqual([address, false]);
    expect([address, await answers("icmp", address, 0)]).toEqual([address, false]);
  }
});

test("names are looked up only where that is allowed, and only at our server", async () => {
  const lookup = `python3 -c 'import socket; print(socket.gethostbyname("name.test"))'`;
  expect((await sandbox.execute(lookup)).stdout).toBe("192.0.2.77\n");
  await sandbox.setEgress({ mode: "deny_all" });
  expect((await sandbox.execute(lookup)).exit_code).not.toBe(0);
  world.arrivals.length = 0;
  await sandbox.setEgress({ mode: "deny_all", dns: true });
  expect((await sandbox.execute(lookup)).stdout).toBe("192.0.2.77\n");
  expect(await answers("udp", "198.51.100.53", 53)).toBe(false);
  expect(new Set(world.arrivals.map(({ protocol, to }) => `${protocol} ${to}`))).toEqual(
    new Set([`dns ${dnsServer}`]),
  );
});

test("a guest that gives itself another address is cut off, and no other sandbox is harmed", async () => {
  await using vandal = await armed();
  await vandal.execute(
    `python3 -c 'import fcntl,socket,struct; s=socket.socket(); fcntl.ioctl(s,0x8916,struct.pack("16sHH4s8x",b"eth0",2,0,socket.inet_aton("169.254.0.20")))'`,
  );
  expect(await answers("tcp", "203.0.113.10", 80, vandal)).toBe(false);
  expect(await answers("tcp", "203.0.113.10", 80)).toBe(true);
});

test("a connection that is open is cut when a new policy forbids it, and another one is not", async () => {
  const talk = (address: string, file: string) =>
    `python3 -c 'import socket,time
s=socket.create_connection(("${address}",80)); s.settimeout(3); s.recv(99)
for n in range(200):
    try:
        s.send(b"%d" % n); s.recv(99); open("${file}","w").write(str(n))
    except OSError: pass
    time.sleep(0.1)' >/dev/null 2>&1 &`;
  await sandbox.execute(`${talk("203.0.113.10", "/tmp/cut")} ${talk("198.51.100.7", "/tmp/kept")} sleep 1`);
  const count = async (file: string) => Number((await sandbox.execute(`cat ${file}`)).stdout);
  await until("both talk", async () => (await count("/tmp/cut")) > 2 && (await count("/tmp/kept")) > 2);
  await sandbox.setEgress({ mode: "allow_all", deny_cidrs: ["203.0.113.0/24"] });
  const cut = await count("/tmp/cut");
  const kept = await count("/tmp/kept");
  await sleep(2_000);
  expect(await count("/tmp/cut")).toBeLessThanOrEqual(cut + 1);
  expect(await count("/tmp/kept")).toBeGreaterThan(kept + 2);
});

test("what was refused is told: address, port, protocol, how often, and by which rule", async () => {
  await sandbox.setEgress({ mode: "allow_all", deny_cidrs: ["198.51.100.0/24"] });
  for (let count = 0; count < 3; count += 1) await answers("udp", "198.51.100.9", udpPort);
  await answers("tcp", "10.77.0.5", 80);
  await answers("tcp", "203.0.113.200", 80);
  const { denied, counters } = await sandbox.egress();
  expect(denied).toContainEqual(
    expect.objectContaining({
      address: "198.51.100.9",
      port: udpPort,
      protocol: "udp",
      rule: "deny_cidr",
      count: 3,
    }),
  );
  expect(denied).toContainEqual(
    expect.objectContaining({ address: "10.77.0.5", port: 80, protocol: "tcp", rule: "private_network" }),
  );
  expect(denied.some(({ address }) => address === "203.0.113.200")).toBe(false);
  expect(counters.packets_out).toBeGreaterThan(2);
  expect(counters.bytes_in).toBeGreaterThan(0);
});

test("what is denied stays denied while the host is dead, and after it has come back", async () => {
  await sandbox.setEgress({ mode: "deny_all" });
  await sandbox.execute(
    `(while true; do python3 /root/probe.py '[["tcp","203.0.113.10",80],["udp","203.0.113.10",${udpPort}]]'; done) >/dev/null 2>&1 & sleep 0.1`,
  );
  process.kill(await serverPid(platform, "host"), "SIGKILL");
  await until("the host answers again", async () =>
    sandbox.execute("true").then(
      () => true,
      () => false,
    ),
  );
  await sleep(5_000);
  expect(world.at("203.0.113.10")).toEqual([]);
  expect((await sandbox.egress()).mode).toBe("deny_all");
  await sandbox.execute("pkill -f probe.py; pkill -f 'while true'");
  await sandbox.setEgress({ mode: "allow_all" });
  expect(await answers("tcp", "203.0.113.10", 80)).toBe(true);
});

test("the next sandbox in a slot finds nothing of the one before", async () => {
  const first = await armed();
  await first.setEgress({ mode: "deny_all" });
  await answers("tcp", "203.0.113.10", 80, first);
  const slot = await netnsOf(first);
  await first.destroy();
  for (let attempt = 0; attempt < 30; attempt += 1) {
    await using next = await armed();
    if ((await netnsOf(next)) !== slot) continue;
    const report = await next.egress();
    expect(report).toMatchObject({
      mode: "allow_all",
      denied: [],
      counters: { packets_out: 0, packets_in: 0 },
    });
    expect(await answers("tcp", "203.0.113.10", 80, next)).toBe(true);
    return;
  }
  throw new Error("the slot was never used again");
});

test("three hundred sandboxes come and go, and leave nothing", async () => {
  const before = await traces();
  for (let round = 0; round < 75; round += 1) {
    const made = await Promise.all(
      Array.from({ length: 4 }, () =>
        platform.client.sandboxes.create({ template: "base", egress: { mode: "deny_all" } }),
      ),
    );
    await Promise.all(made.map((one) => one.destroy()));
  }
  // Ready slots are replaced in the background.
  await until("as much is there as before", async () => (await traces()) === before, 30_000);
}, 600_000);

/** Namespaces, links, addresses and tables of this host, counted. */
async function traces(): Promise<string> {
  const short = platform.instance.replace("skerry-", "sk");
  const lines = async (...command: readonly [string, ...string[]]) => {
    const [program, ...args] = command;
    return (await run(program, ...args)).split("\n").filter((line) => line.includes(short)).length;
  };
  const links = await lines("ip", "-o", "link");
  const addresses = await lines("ip", "-o", "-4", "addr");
  const inPlace = (await namespaces(platform.instance)).length;
  const tables = (await run("nft", "list", "tables")).split(platform.instance.replace("-", "_")).length;
  return JSON.stringify({ links, addresses, inPlace, tables });
}

/** The network namespace of a sandbox, by its QEMU process. */
async function netnsOf(one: Sandbox): Promise<string> {
  return (await run("ip", "netns", "identify", String(await qemuPidOf(platform, one.id)))).trim();
}

/** Every IPv4 address inside a sandbox's slot but loopback and the guest's link. */
async function slotAddresses(one: Sandbox): Promise<string[]> {
  const text = await run("ip", "-n", await netnsOf(one), "-o", "-4", "addr");
  const found = [...text.matchAll(/inet ([\d.]+)/g)].map(([, address]) => address ?? "");
  return found.filter((address) => !address.startsWith("127.") && !address.startsWith("169.254."));
}

async function slotGateway(one: Sandbox): Promise<string> {
  const routes = await run("ip", "-n", await netnsOf(one), "route", "show", "default");
  return /via ([\d.]+)/.exec(routes)?.[1] ?? "";
}
