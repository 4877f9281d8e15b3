// A slot with a stand-in for its guest, and a world beyond the machine: namespaces of the test's own. The guest's end is a veth in
// the place of the TAP, with the guest's addresses, so that its packets meet the slot's rules like those of a microVM.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { baseScript } from "../../src/network/base-rules.ts";
import { EgressRules } from "../../src/network/egress.ts";
import {
  GATEWAY_ADDRESS,
  GATEWAY_CIDR,
  GUEST_ADDRESS,
  GUEST_MAC,
  TAP,
} from "../../src/network/guest-link.ts";
import { openHostNetwork, removeHostNetwork } from "../../src/network/host-network.ts";
import { ipBatch, loadRules } from "../../src/network/inside.ts";
import type { Slot } from "../../src/network/slot.ts";
import { Slots } from "../../src/network/slots.ts";
import { runProgram } from "../../src/run.ts";
import { formatIpv4 } from "../../src/network/ipv4.ts";
import { buildNative } from "./native.ts";
import { testRange, testSlotsOptions } from "./network.ts";
import { pino } from "pino";

const DEADLINE_MS = 60_000;
/** Of whoever waits for an answer that should come. */
const PATIENCE_S = 20;
const RESOLVER_PORT = 10_053;

const WORLD_PROGRAM = `
const { createServer } = require("node:net");
const { createSocket } = require("node:dgram");
const [address, ...ports] = process.argv.slice(1);
let left = ports.length * 2;
const ready = () => { left -= 1; if (left === 0) console.log("ready"); };
for (const port of ports.map(Number)) {
  createServer((one) => one.on("error", () => undefined).pipe(one)).listen(port, address, ready);
  const datagrams = createSocket("udp4");
  datagrams.on("message", (text, { address, port }) => datagrams.send(text, port, address));
  datagrams.bind(port, address, ready);
}`;

export interface Wire {
  readonly slot: Slot;
  /** What the guest's packets carry beyond its slot. */
  readonly slotAddress: string;
  readonly rules: EgressRules;
  readonly slots: Slots;
  /** An address in the world with echo servers, TCP and UDP, on ports 80 and 443. */
  readonly world: string;
  /** This machine's address on its link to the world. */
  readonly host: string;
  readonly resolver: { readonly address: string; readonly port: number };
  /** Runs a shell line in the guest's namespace; resolves with what it printed, "failed" where it failed. */
  guest(line: string, patienceS?: number): Promise<string>;
  spawnInGuest(line: string): ChildProcess;
  stop(): Promise<void>;
}

export async function layWire(name: string): Promise<Wire> {
  const native = await buildNative();
  const options = testSlotsOptions(name, native);
  const { prefix, linkPrefix, range } = options;
  const network = { table: `skerry_${prefix.replace("-", "_")}`, linkPrefix };
  const worldRange = testRange(1).network.base;
  const [host, world] = [formatIpv4(worldRange + 1), formatIpv4(worldRange + 2)];
  const [worldNetns, guestNetns, worldLink] = [`${prefix}w`, `${prefix}g`, `${linkPrefix}w`];
  await openHostNetwork({
    ...network,
    range,
    seed: 0,
    resolverPort: RESOLVER_PORT,
    log: pino({ level: "silent" }),
  });
  const slots = new Slots(options);
  const slot = slots.take();
  await slots.open(slot);
  await ipBatch([
    `netns add ${worldNetns}`,
    `link add ${worldLink} type veth peer name eth0 netns ${worldNetns}`,
    `addr add ${host}/24 dev ${worldLink}`,
    `link set ${worldLink} up`,
    `netns add ${guestNetns}`,
  ]);
  await ipBatch([`addr add ${world}/24 dev eth0`, "link set eth0 up"], worldNetns);
  await standIn(slot, guestNetns, range.pair(slot.number).slot);
  const server = spawn("nsenter", [
    ...[`--net=/run/netns/${worldNetns}`, "--", process.execPath, "-e", WORLD_PROGRAM, world, "80", "443"],
  ]);
  await once(server.stdout, "data");
  const inGuest = (line: string, patienceS = PATIENCE_S): [string, string[]] => [
    "nsenter",
    [`--net=/run/netns/${guestNetns}`, "--", "timeout", String(patienceS), "bash", "-c", line],
  ];
  return {
    slot,
    slots,
    slotAddress: range.pair(slot.number).slot,
    world,
    host,
    resolver: { address: range.resolver, port: RESOLVER_PORT },
    rules: new EgressRules({ range, resolverPort: RESOLVER_PORT, slots }),
    guest: (...asked) => runProgram(...inGuest(...asked), { deadlineMs: DEADLINE_MS }).catch(() => "failed"),
    spawnInGuest: (line) => spawn(...inGuest(line)),
    async stop() {
      const ended = once(server, "exit");
      server.kill("SIGKILL");
      await ended;
      await slots.close(slot);
      await slots.drain();
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
  const rules = baseScript(slotAddress, 1);
  const pin = rules.slice(rules.indexOf("table netdev"));
  await loadRules(`table netdev skerry_base {}\ndelete table netdev skerry_base\n${pin}`, slot);
  await ipBatch(
    [`addr add ${GUEST_ADDRESS}/30 dev eth0`, "link set eth0 up", `route add default via ${GATEWAY_ADDRESS}`],
    guestNetns,
  );
}
