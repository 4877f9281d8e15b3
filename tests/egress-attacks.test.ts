// Each way round the firewall that we know of, tried by root in a real guest. What must not arrive is looked for where it would.

import { createServer, type Server } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { serverPid, startPlatform, until, waitingClones, type Platform } from "./support/platform.ts";
import { machineAddresses } from "./support/machine-addresses.ts";
import { grantPrivateCidrs } from "./support/organizations.ts";
import { equip, expectAnswers, probing, type Destination } from "./support/probing.ts";
import { isFullRun, noteSampled } from "./support/sampling.ts";
import { sharedPlatform } from "./support/shared.ts";
import { netnsOf, slotOf, tracesOf, type Slot } from "./support/slots.ts";
import { dnsServer, machineAddress, udpPort, World } from "./support/world.ts";

const READY_SLOTS = 2;
/** What the slots of every Skerry host are in. */
const SLOTS = "198.18.0.0/15";

const undo = new AsyncDisposableStack();
let world: World;
let platform: Platform;
let sandbox: Sandbox;
/** Listens on every address of this machine, as a careless service does. */
let machine: Server;
let machinePort: number;
let machineCalls = 0;

beforeAll(async () => {
  machine = createServer((connection) => {
    machineCalls += 1;
    connection.end("the machine\n");
  });
  await new Promise<void>((resolve) => machine.listen(0, "0.0.0.0", resolve));
  undo.use(machine);
  const address = machine.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  machinePort = address.port;
  platform = undo.adopt(
    await startPlatform({
      assets: inject("assets"),
      env: {
        SKERRY_DNS_SERVERS: `${dnsServer}:53`,
        // Room for fifteen slots, so that they are used again soon.
        SKERRY_VM_CIDR: "198.18.250.0/27",
        SKERRY_READY_SLOTS: String(READY_SLOTS),
      },
    }),
    (started) => started.stop(),
  );
  // Last, and so closed first: other files wait for it.
  world = undo.use(await World.open());
  await grantPrivateCidrs(platform, "10.255.77.0/30", SLOTS);
  sandbox = await armed();
});

afterAll(() => undo.disposeAsync());

beforeEach(async () => {
  await sandbox.setEgress({ mode: "allow_all" });
  world.arrivals.length = 0;
});

/** A sandbox with the attacker's tools in it. */
async function armed(): Promise<Sandbox> {
  const made = await platform.client.sandboxes.create({ template: "base", timeout: "1h" });
  await arm(made);
  return made;
}

async function arm(made: Sandbox): Promise<void> {
  for (const tool of ["probe.py", "forge.py"] as const) await equip(made, tool);
}

async function forge(...frames: readonly object[]): Promise<void> {
  const sent = await sandbox.execute(`python3 /root/forge.py '${JSON.stringify(frames)}'`);
  expect(sent).toMatchObject({ exit_code: 0, stderr: "" });
}

/** Either every one answers, or none. */
function expectAll(expected: boolean, destinations: readonly Destination[], guest = sandbox): Promise<void> {
  return expectAnswers(
    guest,
    destinations.map((destination) => [destination, expected]),
  );
}

/** Sends an honest frame behind the forged ones; when it has arrived, so would they have. */
async function arrivedAfter(forged: readonly object[]): Promise<string[]> {
  await forge(...forged, { to: "203.0.113.39", port: udpPort, text: "honest" });
  await until("the honest frame arrives", async () => world.at("203.0.113.39").length > 0);
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
  await expectAnswers(sandbox, [
    [["tcp", "203.0.113.11", 80], true],
    [["tcp", "203.0.113.10", 80], false],
    [["tcp", "203.0.113.11", 443], false],
    [["udp", "203.0.113.11", udpPort], false],
  ]);
});

test("the machine's ports cannot be reached through any of its addresses, not even where a CIDR names them", async () => {
  const addresses = new Set([
    ...machineAddresses(),
    machineAddress,
    "169.254.0.22",
    (await slotOf(platform, sandbox.id)).gateway,
  ]);
  await sandbox.setEgress({ allow_cidrs: ["10.255.77.0/30", SLOTS] });
  const before = machineCalls;
  const ports = [...addresses].map((address): Destination => ["tcp", address, machinePort]);
  await expectAll(false, ports);
  await sandbox.setEgress({ mode: "allow_all" });
  await expectAll(false, ports);
  expect(machineCalls).toBe(before);
});

test("two sandboxes cannot reach each other", async () => {
  await using other = await armed();
  await serve(other);
  await expectNoWayTo(await slotOf(platform, other.id));
});

test("a sandbox of another Skerry host on this machine cannot be reached, not even where a CIDR names it", async () => {
  const elsewhere = await sharedPlatform();
  await using other = await elsewhere.client.sandboxes.create({ template: "base" });
  await serve(other);
  const slot = await slotOf(elsewhere, other.id);
  await sandbox.setEgress({ allow_cidrs: [SLOTS] });
  await expectNoWayTo(slot);
  await expectAll(false, [["tcp", slot.gateway, machinePort]]);
  await sandbox.setEgress({ mode: "allow_all" });
  await expectNoWayTo(slot);
});

/** Has it greet whoever connects. */
async function serve(guest: Sandbox): Promise<void> {
  const server = [
    "import socket",
    'listener = socket.create_server(("", 8080))',
    "while True:",
    "    caller, _ = listener.accept()",
    '    caller.sendall(b"hello")',
    "    caller.close()",
  ].join("\n");
  await guest.execute(`python3 -c '${server}' >/dev/null 2>&1 &`);
  const ask = `python3 -c 'import socket; print(socket.create_connection(("127.0.0.1", 8080)).recv(9))'`;
  await until("it serves", async () => (await guest.execute(ask)).stdout.includes("hello"));
}

async function expectNoWayTo({ addresses }: Slot): Promise<void> {
  expect(addresses).not.toEqual([]);
  await expectAll(
    false,
    addresses.flatMap((address): Destination[] => [
      ["tcp", address, 8080],
      ["icmp", address, 0],
    ]),
  );
}

test("names are looked up only where that is allowed, and only at our server", async () => {
  const lookup = `python3 -c 'import socket; print(socket.gethostbyname("name.test"))'`;
  expect((await sandbox.execute(lookup)).stdout).toBe("192.0.2.77\n");
  await sandbox.setEgress({ mode: "deny_all" });
  world.arrivals.length = 0;
  const hasty = `RES_OPTIONS="timeout:1 attempts:1" ${lookup}`;
  expect((await sandbox.execute(hasty)).exit_code).not.toBe(0);
  expect(world.arrivals).toEqual([]);
  await sandbox.setEgress({ mode: "deny_all", dns: true });
  expect((await sandbox.execute(lookup)).stdout).toBe("192.0.2.77\n");
  await expectAll(false, [["udp", "198.51.100.53", 53]]);
  expect(new Set(world.arrivals.map(({ protocol, to }) => `${protocol} ${to}`))).toEqual(
    new Set([`dns ${dnsServer}`]),
  );
});

test("a guest that gives itself another address or card is cut off, and no other sandbox is harmed", async () => {
  await using vandal = await armed();
  const web: Destination = ["tcp", "203.0.113.10", 80];
  await vandal.execute(
    `python3 -c 'import fcntl,socket,struct; s=socket.socket(); fcntl.ioctl(s,0x8916,struct.pack("16sHH4s8x",b"eth0",2,0,socket.inet_aton("169.254.0.20")))'`,
  );
  await expectAll(false, [web], vandal);
  await vandal.execute(`ip link add br0 type bridge && ip link add in0 type veth peer name in1 && ip address flush eth0
    for link in eth0 in0; do ip link set $link master br0; done; for link in br0 in0 in1; do ip link set $link up; done
    ip address add 169.254.0.21/30 dev in1 && ip route add default via 169.254.0.22`);
  await expectAll(false, [web], vandal);
  // The bridge does pass what comes from the address of the guest's own card.
  await vandal.execute(`own=$(cat /sys/class/net/eth0/address); ip link set br0 address 02:00:00:00:00:01
    ip link set eth0 address 02:00:00:00:00:02 && ip link set in1 address $own`);
  await expectAll(true, [web], vandal);
  await expectAll(true, [web]);
});

test("a connection that is open is cut when a new policy forbids it, and another one is not", async () => {
  const talk = (address: string, file: string) =>
    `python3 -c 'import socket,time
s=socket.create_connection(("${address}",80)); s.settimeout(3); s.recv(99)
while True:
    try:
        s.send(b"."); s.recv(99); open("${file}","a").write(".")
    except OSError: pass
    time.sleep(0.1)' >/dev/null 2>&1 &`;
  await sandbox.execute(`${talk("203.0.113.10", "/tmp/cut")} ${talk("198.51.100.7", "/tmp/kept")} true`);
  const count = async (file: string) => Number((await sandbox.execute(`cat ${file} | wc -c`)).stdout);
  await until("both talk", async () => (await count("/tmp/cut")) > 2 && (await count("/tmp/kept")) > 2);
  await sandbox.setEgress({ mode: "allow_all", deny_cidrs: ["203.0.113.0/24"] });
  const cut = await count("/tmp/cut");
  const kept = await count("/tmp/kept");
  await until("the other one has gone on", async () => (await count("/tmp/kept")) > kept + 20);
  expect(await count("/tmp/cut")).toBeLessThanOrEqual(cut + 1);
  await sandbox.execute("pkill -f settimeout");
});

test("what was refused is told: address, port, protocol, how often, and by which rule", async () => {
  await sandbox.setEgress({ mode: "allow_all", deny_cidrs: ["198.51.100.0/24"] });
  const thrice = Array.from({ length: 3 }, (): Destination => ["udp", "198.51.100.9", udpPort]);
  await expectAll(false, [...thrice, ["tcp", "10.77.0.5", 80]]);
  await expectAll(true, [["tcp", "203.0.113.60", 80]]);
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
  expect(denied.some(({ address }) => address === "203.0.113.60")).toBe(false);
  expect(counters.packets_out).toBeGreaterThan(2);
  expect(counters.bytes_in).toBeGreaterThan(0);
});

test("what is denied stays denied while the host is dead, and after it has come back", async () => {
  await sandbox.setEgress({ mode: "deny_all" });
  const trying = probing([
    [["tcp", "203.0.113.10", 80], false],
    [["udp", "203.0.113.10", udpPort], false],
  ]);
  await sandbox.execute(`(while true; do ${trying}; echo >>/tmp/tries; done) >/dev/null 2>&1 &`);
  const tries = async () => Number((await sandbox.execute("cat /tmp/tries | wc -l")).stdout);
  await until("it is tried", async () => (await tries()) > 0);
  process.kill(await serverPid(platform, "host"), "SIGKILL");
  await until("the host answers again", async () =>
    sandbox.execute("true").then(
      () => true,
      () => false,
    ),
  );
  const before = await tries();
  // The first of these may have begun before.
  await until("it is tried again", async () => (await tries()) > before + 1);
  expect(world.at("203.0.113.10")).toEqual([]);
  expect((await sandbox.egress()).mode).toBe("deny_all");
  await sandbox.execute("pkill -f probe.py; pkill -f 'while true'");
  await sandbox.setEgress({ mode: "allow_all" });
  await expectAll(true, [["tcp", "203.0.113.10", 80]]);
});

/** Some at once. */
function crowd(request: { readonly egress?: { readonly mode: "deny_all" } } = {}): Promise<Sandbox[]> {
  const whole = { template: "base", timeout: "1h", ...request };
  return Promise.all(Array.from({ length: 4 }, () => platform.client.sandboxes.create(whole)));
}

async function leave(all: readonly Sandbox[]): Promise<void> {
  await Promise.all(all.map((one) => one.destroy()));
}

test("the next sandbox in a slot finds nothing of the one before", async () => {
  const first = await armed();
  await first.setEgress({ mode: "deny_all" });
  await expectAll(false, [["tcp", "203.0.113.10", 80]], first);
  const slot = await netnsOf(platform, first.id);
  await first.destroy();
  let next: Sandbox | undefined;
  for (let round = 0; round < 10 && next === undefined; round += 1) {
    const all = await crowd();
    for (const one of all) if ((await netnsOf(platform, one.id)) === slot) next = one;
    await leave(all.filter((one) => one !== next));
  }
  if (next === undefined) throw new Error("the slot was never used again");
  expect(await next.egress()).toMatchObject({
    mode: "allow_all",
    denied: [],
    counters: { packets_out: 0, packets_in: 0 },
  });
  await arm(next);
  await expectAll(true, [["tcp", "203.0.113.10", 80]], next);
  await next.destroy();
});

const ROUNDS = isFullRun ? 75 : 10;
noteSampled({ title: "rounds of sandboxes that come and go", taken: ROUNDS, all: 75 });

test("sandboxes come and go, each slot has many of them, and they leave nothing", async () => {
  for (let round = 0; round < ROUNDS; round += 1) await leave(await crowd({ egress: { mode: "deny_all" } }));
  // Ready slots are replaced in the background, and so are clones that wait.
  await until("only what waits and what runs is there", async () => {
    const slots = READY_SLOTS + (await waitingClones(platform)).length + 1;
    const expected = { links: slots, addresses: slots + 1, namespaces: slots, tables: 1 };
    return isDeepStrictEqual(await tracesOf(platform), expected);
  });
});
