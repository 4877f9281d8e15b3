// A slot with a stand-in for its guest, and a world beyond the machine: namespaces of the test's own. The guest's end is a veth in
// the place of the TAP, with the guest's addresses, so that its packets meet the slot's rules like those of a microVM.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { baseRulesScript } from "../../src/network/base-rules.ts";
import { EgressLoader } from "../../src/network/egress-loader.ts";
import {
  GATEWAY_ADDRESS,
  GATEWAY_CIDR,
  GUEST_ADDRESS,
  GUEST_MAC,
  TAP,
} from "../../src/network/guest-link.ts";
import { openHostNetwork, removeHostNetwork } from "../../src/network/host-network.ts";
import { ipBatch, loadRules } from "../../src/network/netns-exec.ts";
import type { Slot } from "../../src/network/slot.ts";
import { Slots } from "../../src/network/slots.ts";
import { runProgram } from "../../src/system/run.ts";
import type { NameProxy } from "../../src/network/name-proxy.ts";
import { endTestNames, testNames, testRootNameProxy } from "./names.ts";
import { buildNative } from "./native.ts";
import { testNumber, testSlotsOptions, testWorld, testEdgeUid } from "./network.ts";
import { pino } from "pino";

const DEADLINE_MS = 60_000;
/** Of whoever waits for an answer that should come. */
const PATIENCE_S = 20;
const RESOLVER_PORT = 10_053;
/** Where the name proxy asks, in the world. */
export const NAME_SERVER_PORT = 5_353;
/** Of routing tables, beyond those that have names. */
const FIRST_TABLE = 70_000;

const WORLD_PROGRAM = `
const { createServer } = require("node:net");
const { createSocket } = require("node:dgram");
const [addresses, ...ports] = process.argv.slice(1);
const places = addresses.split(",").flatMap((address) => ports.map((port) => [address, Number(port)]));
let left = places.length * 2;
const ready = () => { left -= 1; if (left === 0) console.log("ready"); };
for (const [address, port] of places) {
  createServer((one) => one.on("error", () => undefined).pipe(one)).listen(port, address, ready);
  const datagrams = createSocket("udp4");
  datagrams.on("message", (text, { address, port }) => datagrams.send(text, port, address));
  datagrams.bind(port, address, ready);
}`;

/** What the operator of this host has said that guests never reach. */
export const NEVER_CIDR = "192.88.99.0/24";

export interface Wire {
  readonly slot: Slot;
  /** Of the host's native programs. */
  readonly nativeFolder: string;
  /** What the guest's packets carry beyond its slot. */
  readonly slotAddress: string;
  readonly rules: EgressLoader;
  readonly slots: Slots;
  /** An address in the world with echo servers, TCP and UDP, on ports 80 and 443. */
  readonly world: string;
  readonly worldNetns: string;
  readonly names: NameProxy;
  /** This machine's address on its link to the world. */
  readonly host: string;
  readonly resolver: { readonly address: string; readonly port: number };
  /** Runs a shell line in the guest's namespace; resolves with what it printed, "failed" where it failed. */
  guest(line: string, patienceS?: number): Promise<string>;
  spawnInGuest(line: string): ChildProcess;
  stop(): Promise<void>;
}

/** `also`: more addresses that the world answers at. Only packets from the slot find them: on some machines they are those of real services. */
export async function layWire(name: string, also: readonly string[] = []): Promise<Wire> {
  const native = await buildNative();
  const options = testSlotsOptions(name, native);
  const { prefix, linkPrefix, range } = options;
  const network = { table: `skerry_${prefix.replace("-", "_")}`, linkPrefix };
  const { host, world, prefixLength } = testWorld();
  const table = String(FIRST_TABLE + testNumber);
  const [worldNetns, guestNetns, worldLink] = [`${prefix}w`, `${prefix}g`, `${linkPrefix}w`];
  await openHostNetwork({
    ...network,
    range,
    seed: 0,
    resolverPort: RESOLVER_PORT,
    nameProxy: testRootNameProxy,
    edgeUid: testEdgeUid,
    edgePeers: [],
    log: pino({ level: "silent" }),
  });
  const slots = new Slots(options);
  const slot = slots.take();
  await slots.open(slot);
  await ipBatch([
    `netns add ${worldNetns}`,
    `link add ${worldLink} type veth peer name eth0 netns ${worldNetns}`,
    `addr add ${host}/${prefixLength} dev ${worldLink}`,
    `link set ${worldLink} up`,
    `netns add ${guestNetns}`,
  ]);
  const more = also.map((address) => `addr add ${address}/32 dev eth0`);
  await ipBatch([`addr add ${world}/${prefixLength} dev eth0`, ...more, "link set eth0 up"], worldNetns);
  await ipBatch([
    `rule add iif ${slot.link} lookup ${table}`,
    ...also.map((address) => `route add ${address}/32 via ${world} dev ${worldLink} table ${table}`),
  ]);
  await standIn(slot, guestNetns, range.pair(slot.number).slot);
  const server = spawn("nsenter", [
    ...[`--net=/run/netns/${worldNetns}`, "--", process.execPath, "-e", WORLD_PROGRAM],
    ...[[world, ...also].join(","), "80", "443"],
  ]);
  await once(server.stdout, "data");
  const names = testNames({ servers: [{ address: world, port: NAME_SERVER_PORT }] });
  const inGuest = (line: string, patienceS = PATIENCE_S): [string, string[]] => [
    "nsenter",
    [`--net=/run/netns/${guestNetns}`, "--", "timeout", String(patienceS), "bash", "-c", line],
  ];
  return {
    slot,
    nativeFolder: native.folder,
    slots,
    slotAddress: range.pair(slot.number).slot,
    world,
    worldNetns,
    names: names.proxy,
    host,
    resolver: { address: range.resolver, port: RESOLVER_PORT },
    rules: new EgressLoader({ range, neverCidrs: [NEVER_CIDR], resolverPort: RESOLVER_PORT, slots, names }),
    guest: (...asked) => runProgram(...inGuest(...asked), { deadlineMs: DEADLINE_MS }).catch(() => "failed"),
    spawnInGuest: (line) => spawn(...inGuest(line)),
    async stop() {
      const ended = once(server, "exit");
      server.kill("SIGKILL");
      await ended;
      names.proxy.close();
      await endTestNames();
      await slots.close(slot);
      await slots.drain();
      await ipBatch([`rule del iif ${slot.link} lookup ${table}`]);
      await ipBatch([`link del ${worldLink}`, `netns del ${worldNetns}`, `netns del ${guestNetns}`]);
      await removeHostNetwork(network);
      await native[Symbol.asyncDispose]();
    },
  };
}

async function standIn(slot: Slot, guestNetns: string, slotAddress: string): Promise<void> {
  await ipBatch(
    [
      `link del ${TAP}`,
      `link add ${TAP} type veth peer name eth0 address ${GUEST_MAC} netns ${guestNetns}`,
      `addr add ${GATEWAY_CIDR} dev ${TAP}`,
      `link set ${TAP} up`,
    ],
    slot.netns,
  );
  // The pin went with the TAP.
  const rules = baseRulesScript({ slot: slotAddress, gateway: slotAddress, prefix: 31 }, 1);
  const pin = rules.slice(rules.indexOf("table netdev"));
  await loadRules(`table netdev skerry_base {}\ndelete table netdev skerry_base\n${pin}`, slot);
  await ipBatch(
    [`addr add ${GUEST_ADDRESS}/30 dev eth0`, "link set eth0 up", `route add default via ${GATEWAY_ADDRESS}`],
    guestNetns,
  );
}
