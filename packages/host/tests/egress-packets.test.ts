import type { Egress, HostEgress } from "@skerry/contract/vms/egress";
import { createSocket } from "node:dgram";
import { readFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DnsForwarder } from "../src/network/dns-forwarder.ts";
import { ipBatch, loadRules } from "../src/network/netns-exec.ts";
import { testWorld } from "./support/network.ts";
import { layWire, NEVER_CIDR, type Wire } from "./support/wire.ts";
import { pino } from "pino";

/** Of Azure, Oracle Cloud and Alibaba Cloud, and the link-local one of all others. */
const metadataServices = ["168.63.129.16", "192.0.0.192", "100.100.100.200", "169.254.169.254"];
/** A database of the operator's. */
const internal = "10.77.0.2";
/** For tests of network devices: where it is used at all, it is private. */
const benchmark = "198.18.0.1";
const neverHere = NEVER_CIDR.replace(".0/", ".7/").replace(/\/.*/, "");
/** Somewhere public. */
const elsewhere = "203.0.113.7";

let wire: Wire;
beforeAll(async () => {
  wire = await layWire("e", [...metadataServices, internal, neverHere, elsewhere, benchmark]);
});
afterAll(() => wire?.stop());

const closed: Egress = { mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: false };

/** Where packets are lost, and nobody is told. */
const SILENCE_S = 2;

const tcp = (address: string, port: number, patienceS?: number): Promise<string> =>
  wire.guest(`exec 3<>/dev/tcp/${address}/${port} && echo hello >&3 && head -n 1 <&3`, patienceS);
const udp = (address: string, port: number, patienceS?: number): Promise<string> =>
  wire.guest(`exec 3<>/dev/udp/${address}/${port} && echo hello >&3 && head -n 1 <&3`, patienceS);

test("a slot without a policy passes nothing, and with one what the policy names", async () => {
  expect(await tcp(wire.world, 80, SILENCE_S)).toBe("failed");
  await wire.rules.load(wire.slot, { ...closed, mode: "allow_all" });
  expect(await tcp(wire.world, 80)).toBe("hello\n");
  expect(await udp(wire.world, 80)).toBe("hello\n");
  await wire.rules.replace(wire.slot, closed);
  expect(await tcp(wire.world, 80)).toBe("failed");
  expect(await udp(wire.world, 80)).toBe("failed");
});

test("what passes is counted, and what is refused is told with address, port, protocol and rule", async () => {
  const policy: Egress = { ...closed, allow_cidrs: [`${wire.world}/32`], allow_ports: [443] };
  await wire.rules.replace(wire.slot, policy);
  const before = await wire.rules.report(wire.slot, policy);
  expect(await tcp(wire.world, 443)).toBe("hello\n");
  expect(await tcp(wire.world, 80)).toBe("failed");
  expect(await udp(wire.world, 443)).toBe("failed");
  expect(await tcp("10.1.2.3", 25)).toBe("failed");
  expect(await tcp("169.254.169.254", 80)).toBe("failed");
  const { counters, denied, ...shown } = await wire.rules.report(wire.slot, policy);
  expect(shown).toEqual(policy);
  expect(counters.packets_out).toBeGreaterThan(before.counters.packets_out);
  expect(counters.bytes_in).toBeGreaterThan(before.counters.bytes_in);
  const told = denied.map(({ address, port, protocol, rule }) => `${rule} ${protocol} ${address} ${port}`);
  expect(told).toEqual(
    expect.arrayContaining([
      `port tcp ${wire.world} 80`,
      `port udp ${wire.world} 443`,
      "private_network tcp 10.1.2.3 25",
      "never tcp 169.254.169.254 80",
    ]),
  );
  for (const { last_at } of denied) expect(Math.abs(Date.parse(last_at) - Date.now())).toBeLessThan(60_000);
});

const everything: HostEgress = { ...closed, mode: "deny_all", allow_cidrs: ["0.0.0.0/0"] };

test("whatever the policy, no metadata service is reached, nor what the operator of the host excludes", async () => {
  const open: HostEgress = { ...closed, mode: "allow_all" };
  const alibaba = { ...closed, allow_cidrs: ["100.64.0.0/10"], private_cidrs: ["100.64.0.0/10"] };
  for (const policy of [open, everything, alibaba]) {
    await wire.rules.replace(wire.slot, policy);
    for (const address of [...metadataServices, neverHere]) {
      expect([policy, address, await tcp(address, 80)]).toEqual([policy, address, "failed"]);
    }
  }
  const { denied } = await wire.rules.report(wire.slot, open);
  for (const address of [...metadataServices, neverHere]) {
    expect(denied).toContainEqual(expect.objectContaining({ rule: "never", address, port: 80 }));
  }
  await wire.rules.replace(wire.slot, open);
  for (const address of [wire.world, elsewhere]) expect(await tcp(address, 80)).toBe("hello\n");
  expect(await tcp(benchmark, 80)).toBe("failed");
});

test("an allowed network opens of private ones what is granted, and a grant alone opens nothing", async () => {
  const reaches = async (policy: HostEgress): Promise<string[]> => {
    await wire.rules.replace(wire.slot, policy);
    const reached: string[] = [];
    for (const address of [internal, benchmark, elsewhere]) {
      if ((await tcp(address, 80)) === "hello\n") reached.push(address);
    }
    return reached;
  };
  expect(await reaches(everything)).toEqual([elsewhere]);
  expect(await reaches({ ...everything, private_cidrs: [] })).toEqual([elsewhere]);
  expect(await reaches({ ...everything, private_cidrs: ["10.77.0.0/16"] })).toEqual([internal, elsewhere]);
  expect(await reaches({ ...closed, mode: "allow_all", private_cidrs: ["10.77.0.0/16"] })).toEqual([
    elsewhere,
  ]);
  const named: HostEgress = { ...closed, allow_cidrs: ["10.77.0.2/32"] };
  expect(await reaches(named)).toEqual([internal]);
  expect(await reaches({ ...named, private_cidrs: [] })).toEqual([]);
  expect(await reaches({ ...named, deny_cidrs: ["10.0.0.0/8"] })).toEqual([]);
  const { denied, ...shown } = await wire.rules.report(wire.slot, { ...named, private_cidrs: [] });
  expect(denied).toContainEqual(expect.objectContaining({ rule: "private_network", address: internal }));
  expect(shown).not.toHaveProperty("private_cidrs");
});

test("a live change cuts open connections, and keeps what was counted and refused", async () => {
  const open: Egress = { ...closed, mode: "allow_all" };
  await wire.rules.replace(wire.slot, open);
  const client = wire.spawnInGuest(
    `exec 3<>/dev/tcp/${wire.world}/80; echo one >&3; head -n 1 <&3; read go; echo two >&3; timeout 1 head -n 1 <&3; echo end`,
  );
  let said = "";
  client.stdout?.on("data", (text: Buffer) => (said += text.toString()));
  if (client.stdout !== null) await once(client.stdout, "data");
  const before = await wire.rules.report(wire.slot, open);
  const cut: Egress = { ...open, deny_cidrs: [`${wire.world}/32`] };
  await wire.rules.replace(wire.slot, cut);
  const exited = once(client, "exit");
  client.stdin?.end("go\n");
  await exited;
  expect(said).not.toContain("two");
  const after = await wire.rules.report(wire.slot, cut);
  expect(after.counters.packets_out).toBeGreaterThanOrEqual(before.counters.packets_out);
  expect(after.denied.map(({ rule }) => rule)).toEqual(expect.arrayContaining(["deny_cidr", "deny_all"]));
});

test("the machine's own ports are closed to a guest on every address of the machine, whatever the policy", async () => {
  const pair = wire.resolver.address;
  await wire.rules.replace(wire.slot, { ...closed, mode: "allow_all", allow_cidrs: ["0.0.0.0/0"] });
  const server = createServer((one) => one.end("host\n")).listen(0, "0.0.0.0");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    for (const address of [wire.host, pair, "169.254.0.22", "127.0.0.1"]) {
      expect([address, await tcp(address, port, SILENCE_S)]).toEqual([address, "failed"]);
    }
  } finally {
    server.close();
  }
});

test("a port of the machine is closed where it leads elsewhere, also on an address that came after the policy", async () => {
  await wire.rules.replace(wire.slot, { ...closed, mode: "allow_all" });
  const address = testWorld().spare;
  const table = `skerry_unit_${process.pid}_published`;
  await ipBatch([`addr add ${address}/32 dev lo`]);
  try {
    // As Docker publishes a container's port: forwarded, never received by the machine itself.
    await loadRules(
      `table ip ${table} {
        chain published {
          type nat hook prerouting priority dstnat
          ip daddr ${address} tcp dport 8080 counter dnat to ${wire.world}:80
        }
      }`,
    );
    expect(await tcp(address, 8080, SILENCE_S)).toBe("failed");
    expect(await tcp(wire.world, 80)).toBe("hello\n");
  } finally {
    await ipBatch([`addr del ${address}/32 dev lo`]);
    await loadRules(`table ip ${table} {}\ndelete table ip ${table}`);
  }
});

test("names are looked up through the slot's gateway where the policy says so, and refused where not", async () => {
  const upstream = createSocket("udp4");
  upstream.on("message", (query, { address, port }) => {
    const answer = Buffer.concat([query, Buffer.from("answer\n")]);
    answer[2] = 0x80;
    upstream.send(answer, port, address);
  });
  upstream.bind(0, "127.0.0.1");
  await once(upstream, "listening");
  const server = { address: "127.0.0.1", port: upstream.address().port };
  const forwarder = await DnsForwarder.open({
    ...wire.resolver,
    servers: () => Promise.resolve([server]),
    log: pino({ level: "silent" }),
  });
  const ask = (): Promise<string> =>
    wire.guest(
      "exec 3<>/dev/udp/169.254.0.22/53 && printf 'AB\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00ask' >&3 && timeout 1 head -n 1 <&3 | tr -d '\\000'",
    );
  try {
    const policy = { ...closed, dns: true };
    await wire.rules.replace(wire.slot, policy);
    expect(await ask()).toMatch(/^AB.*askanswer/s);
    await wire.rules.replace(wire.slot, closed);
    expect(await ask()).not.toContain("answer");
    const { denied } = await wire.rules.report(wire.slot, closed);
    expect(denied).toContainEqual(
      expect.objectContaining({ rule: "dns", address: "169.254.0.22", port: 53, protocol: "udp" }),
    );
  } finally {
    await forwarder.close();
    upstream.close();
  }
});

// A segment in the middle of a connection, and what comes back for it.
const MID_STREAM = `
import socket, struct, sys
address = sys.argv[1]
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
raw.settimeout(${SILENCE_S})
raw.connect((address, 0))
own = socket.inet_aton(raw.getsockname()[0])
def segment(checksum):
    return struct.pack("!HHIIBBHHH", 40000, 80, 1000, 2000, 5 << 4, 0x18, 64000, checksum, 0) + b"hello\\n"
whole = own + socket.inet_aton(address) + struct.pack("!BBH", 0, 6, 26) + segment(0)
total = sum(struct.unpack("!%dH" % (len(whole) // 2), whole))
while total >> 16: total = (total & 0xffff) + (total >> 16)
raw.send(segment(~total & 0xffff))
try:
    print("reset" if raw.recv(100)[33] & 4 else "answered")
except TimeoutError:
    print("silence")
`;

test("a datagram from port 0, which nothing can answer, does not leave the slot", async () => {
  const open: Egress = { ...closed, mode: "allow_all" };
  await wire.rules.replace(wire.slot, open);
  const sent = async (port: number): Promise<number> => {
    const before = (await wire.rules.report(wire.slot, open)).counters.packets_out;
    await wire.guest(`python3 -c '
import socket, struct
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
raw.sendto(struct.pack("!HHHH", ${port}, 9, 8, 0), ("${wire.world}", 0))'`);
    return (await wire.rules.report(wire.slot, open)).counters.packets_out - before;
  };
  expect(await sent(1)).toBe(1);
  expect(await sent(0)).toBe(0);
});

test("a connection of which the slot has not seen the beginning is reset, and does not leave it", async () => {
  const open: Egress = { ...closed, mode: "allow_all" };
  await wire.rules.replace(wire.slot, open);
  const before = (await wire.rules.report(wire.slot, open)).counters;
  expect(await wire.guest(`python3 - ${wire.world} <<'X'\n${MID_STREAM}X`)).toBe("reset\n");
  const after = (await wire.rules.report(wire.slot, open)).counters;
  expect(after.packets_out).toBe(before.packets_out);
});

test("a slot that has lost all its rules passes nothing", async () => {
  await wire.rules.replace(wire.slot, { ...closed, mode: "allow_all" });
  expect(await tcp(wire.world, 80)).toBe("hello\n");
  await loadRules("delete table inet skerry_policy", wire.slot);
  expect(await tcp(wire.world, 80, SILENCE_S)).toBe("failed");
  await loadRules("flush ruleset", wire.slot);
  expect(await tcp(wire.world, 80, SILENCE_S)).toBe("failed");
  expect(await udp(wire.world, 80, SILENCE_S)).toBe("failed");
});

test("with its slot this machine forgets the connections that a guest has begun, and those of nobody else", async () => {
  const own = wire.slotAddress;
  const tracked = async (): Promise<string[]> =>
    (await readFile("/proc/net/nf_conntrack", "utf8")).split("\n");
  const of = (lines: string[]): string[] => lines.filter((line) => line.includes(` src=${own} `));
  expect(of(await tracked()).length).toBeGreaterThan(3);
  const others = (await tracked()).length - of(await tracked()).length;
  await wire.slots.close(wire.slot);
  await wire.slots.drain();
  const after = await tracked();
  expect(of(after)).toEqual([]);
  expect(after.length).toBeGreaterThan(others / 2);
});
