// The firewall by real packets: from a real guest, through its slot and this machine, to a world of the tests' own.

import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import type { Egress, EgressDenial, EgressRequest } from "@skerry/contract/vms/egress";
import type { HostClient } from "../packages/control/src/host-client/host-client.ts";
import { addressOfSocket, HostDirectory } from "../packages/control/src/host-client/host-directory.ts";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { grantPrivateCidrs } from "./support/organizations.ts";
import { nothingWaits, startPlatform, until, type Platform } from "./support/platform.ts";
import { equip, expectAnswers, probe, type Destination, type Wanted } from "./support/probing.ts";
import { drawn, isFullRun, noteSampled } from "./support/sampling.ts";
import { dnsServer, privateNetworks, publicNetworks, tcpPorts, udpPort, World } from "./support/world.ts";

const undo = new AsyncDisposableStack();
let world: World;
let platform: Platform;
let sandbox: Sandbox;

beforeAll(async () => {
  platform = undo.adopt(
    await startPlatform({
      assets: inject("assets"),
      env: { ...nothingWaits, SKERRY_DNS_SERVERS: `${dnsServer}:53` },
    }),
    (started) => started.stop(),
  );
  // Last, and so closed first: other files wait for it.
  world = undo.use(await World.open());
  sandbox = await platform.client.sandboxes.create({ template: "base", timeout: "1h" });
  await equip(sandbox, "probe.py");
});

afterAll(() => undo.disposeAsync());

beforeEach(() => {
  world.arrivals.length = 0;
});

const web: Destination = ["tcp", "203.0.113.10", 80];

test("without a word about egress a sandbox reaches public addresses and no private ones", async () => {
  await expectAnswers(sandbox, [
    [web, true],
    [["udp", "198.51.100.7", udpPort], true],
    [["icmp", "203.0.113.10", 0], true],
    [["tcp", "10.77.0.5", 80], false],
    [["udp", "172.20.7.9", udpPort], false],
  ]);
});

test("a private network is reached from when the operator grants it until that is taken back", async () => {
  const database: Destination = ["tcp", "10.77.0.5", 80];
  const refused = await sandbox.setEgress({ allow_cidrs: ["10.77.0.0/24"] }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "egress_forbidden", status: 403 });
  await sandbox.setEgress({ allow_cidrs: ["0.0.0.0/0"] });
  await expectAnswers(sandbox, [
    [database, false],
    [web, true],
  ]);
  expect((await sandbox.egress()).denied[0]).toMatchObject({ rule: "private_network", address: "10.77.0.5" });
  const reached = async (): Promise<boolean> => (await probe(sandbox, [[database, false]]))[0] === true;
  await grantPrivateCidrs(platform, "10.77.0.0/24");
  await until("the grant is in force", reached);
  await grantPrivateCidrs(platform, "none");
  await until("the grant is taken back", async () => !(await reached()));
  await expectAnswers(sandbox, [[web, true]]);
});

test("random policies decide random destinations as the model does", async () => {
  await grantPrivateCidrs(platform, ...privateNetworks);
  const outcomes = fc.sample(fc.tuple(policies, fc.array(destinations, { minLength: 24, maxLength: 24 })), {
    numRuns: 15,
    seed: 20_261_120,
  });
  const first = drawn("random policies", 3);
  const tried = outcomes.filter((_, at) => isFullRun || at % 3 === first);
  noteSampled({ title: "random policies", taken: tried.length, all: outcomes.length });
  for (const [policy, wanted] of tried) {
    await sandbox.setEgress(policy);
    const modelled = wanted.map((destination): Wanted => [destination, allowed(policy, destination)]);
    const seen = await probe(sandbox, modelled);
    for (const [index, [destination, expected]] of modelled.entries()) {
      expect([policy, destination, seen[index]]).toEqual([policy, destination, expected]);
    }
  }
  // The next tests look at the web from here, whichever policy was the last.
  await sandbox.setEgress({ mode: "allow_all" });
});

test("a guest has as many connections as it may, and its neighbour none the fewer", async () => {
  await using crowd = await platform.client.sandboxes.create({ template: "base" });
  const tried = 1_300;
  const refused = await floodFrom(crowd, { flows: tried, batch: 100, pauseS: 0.45 });
  expect(refused.map(({ rule }) => rule)).toEqual(["connection_limit"]);
  expect(world.at(flooded).length).toBeLessThanOrEqual(tried - (refused[0]?.count ?? 0));
  await until("what passed has arrived", async () => world.at(flooded).length > 500);
  await expectAnswers(sandbox, [[web, true]]);
});

test("a guest that opens connections faster than it may is told so, and its neighbour is not slowed", async () => {
  await using hasty = await platform.client.sandboxes.create({ template: "base" });
  // So many that also a slow guest is faster than it may be before they are over.
  const flows = 3_000;
  const refused = await floodFrom(hasty, { flows, batch: flows, pauseS: 0 });
  expect(refused.map(({ rule }) => rule)).toContain("rate_limit");
  await expectAnswers(sandbox, [[web, true]]);
});

test("an order that reaches the host after a newer one brings no older policy back", async () => {
  await using host = hostOf(platform);
  const vm = (await host.client.listVms()).find(({ id }) => id === sandbox.id);
  if (vm === undefined) throw new Error("the host does not know the sandbox");
  await sandbox.setEgress({ mode: "deny_all" });
  const first: Egress = { mode: "allow_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: true };
  const report = await host.client.setEgress(vm, { egress: first, version: 1 });
  expect(report.mode).toBe("deny_all");
  await expectAnswers(sandbox, [[web, false]]);
  expect((await sandbox.setEgress(first)).mode).toBe("allow_all");
  await expectAnswers(sandbox, [[web, true]]);
});

/** The way that control takes, past it. */
function hostOf({ state }: Platform): { readonly client: HostClient } & AsyncDisposable {
  const hosts = new HostDirectory(() => Promise.reject(new Error("a socket needs no credentials")));
  const client = hosts.client(addressOfSocket(join(state, "run/host.sock")));
  return { client, [Symbol.asyncDispose]: () => hosts.close() };
}

const flooded = "203.0.113.20";

/** Begins flows to one address, each from a port of its own, and answers what was refused there. */
async function floodFrom(
  guest: Sandbox,
  { flows, batch, pauseS }: { readonly flows: number; readonly batch: number; readonly pauseS: number },
): Promise<EgressDenial[]> {
  const run = await guest.execute(`python3 -c '
import socket, time
for flow in range(${flows}):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind(("", 20000 + flow))
    one.sendto(b"flow", ("${flooded}", ${udpPort}))
    one.close()
    if flow % ${batch} == ${batch} - 1: time.sleep(${pauseS})
'`);
  expect(run).toMatchObject({ exit_code: 0, stderr: "" });
  return (await guest.egress()).denied.filter(({ address }) => address === flooded);
}

/** The whole firewall in ten lines, over whole octets: what the real one must agree with. */
function allowed(policy: EgressRequest, [protocol, address, port]: Destination): boolean {
  const within = (cidrs: readonly string[] = []) => cidrs.some((cidr) => contains(cidr, address));
  const { allow_cidrs: allow = [], allow_ports: ports = [] } = policy;
  if (within(policy.deny_cidrs)) return false;
  if (within(allow)) return ports.length === 0 || (protocol === "tcp" && ports.includes(port));
  if (within(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"])) return false;
  return (policy.mode ?? (allow.length > 0 ? "deny_all" : "allow_all")) === "allow_all";
}

function contains(cidr: string, address: string): boolean {
  const [network = "", bits = "32"] = cidr.split("/");
  const number = (text: string) => text.split(".").reduce((total, octet) => total * 256 + Number(octet), 0);
  const size = 2 ** (32 - Number(bits));
  return Math.floor(number(address) / size) === Math.floor(number(network) / size);
}

const networks = [...publicNetworks, ...privateNetworks];
const addresses = fc.constantFrom(...networks).chain((network) => {
  const [first = "", bits] = network.split("/");
  const hosts = fc.integer({ min: 1, max: 2 ** (32 - Number(bits)) - 2 });
  return hosts.map((host) => first.replace(/0$/, String(host)));
});
/** A network of the world, a part of one, or one address of it. */
const cidrs = fc.tuple(addresses, fc.constantFrom(24, 25, 26, 28, 32)).map(([address, bits]) => {
  const size = 2 ** (32 - bits);
  const last = Number(address.split(".")[3]);
  return `${address.replace(/\d+$/, String(last - (last % size)))}/${bits}`;
});
const lists = fc.uniqueArray(cidrs, { maxLength: 5 });
const someCidrs = fc.uniqueArray(cidrs, { minLength: 1, maxLength: 5 });
const ports = fc.uniqueArray(fc.constantFrom(...tcpPorts), { maxLength: 2 });
const policies: fc.Arbitrary<EgressRequest> = fc.oneof(
  fc.record({ mode: fc.constant("allow_all" as const), deny_cidrs: lists }),
  fc.record({ mode: fc.constant("deny_all" as const), deny_cidrs: lists }),
  fc.record({ allow_cidrs: someCidrs, deny_cidrs: lists, allow_ports: ports }),
);
const destinations: fc.Arbitrary<Destination> = fc.oneof(
  fc.tuple(fc.constant("tcp" as const), addresses, fc.constantFrom(...tcpPorts)),
  fc.tuple(fc.constant("udp" as const), addresses, fc.constant(udpPort)),
  fc.tuple(fc.constant("icmp" as const), addresses, fc.constant(0)),
);
