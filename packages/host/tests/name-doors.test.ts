// The name proxy's doors by themselves, without its process and without the rules that lead to it.

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { DnsDoor } from "../src/names/dns-door.ts";
import { Guests } from "../src/names/guests.ts";
import { Resolver } from "../src/names/resolver.ts";
import type { NamePolicy } from "../src/network/name-proxy-protocol.ts";
import { runProgram } from "../src/run.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const GUEST = "127.0.0.1";
const policy: NamePolicy = {
  ...{ mode: "deny_all", allow_domains: ["*.example"], deny_domains: [], never: [], deny_cidrs: [] },
  ...{ private_networks: [], open_cidrs: [] },
};

function guestsOf(resolver = new Resolver(() => Promise.resolve([]))): Guests {
  const guests = new Guests(() => resolver);
  guests.set({ guest: GUEST, policy, isNew: true });
  return guests;
}

test("a query from port 0, to which nothing can be sent, is passed over, and the next one is answered", async () => {
  const door = new DnsDoor({ guests: guestsOf(), servers: () => Promise.resolve([]) });
  door.datagrams.bind(0, GUEST);
  await once(door.datagrams, "listening");
  cleanups.push(() => door.datagrams.close());
  const { port } = door.datagrams.address();
  const query = Buffer.from("4142010000010000000000000161056f746865720000010001", "hex");
  const header = Buffer.alloc(8);
  header.writeUInt16BE(port, 2);
  header.writeUInt16BE(header.length + query.length, 4);
  const program =
    "import socket, sys; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)" +
    ".sendto(bytes.fromhex(sys.argv[2]), (sys.argv[1], 0))";
  const packet = Buffer.concat([header, query]).toString("hex");
  await runProgram("python3", ["-c", program, GUEST, packet], { deadlineMs: 20_000 });
  const client = createSocket("udp4");
  cleanups.push(() => client.close());
  client.send(query, port, GUEST);
  const [answer] = (await once(client, "message")) as [Buffer];
  expect((answer[3] ?? 0) & 15).toBe(3);
});
