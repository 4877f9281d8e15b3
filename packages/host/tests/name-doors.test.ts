// The name proxy's doors by themselves, without its process and without the rules that lead to it.

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, expect, test, vi } from "vitest";
import { ControlDoor } from "../src/names/control-door.ts";
import { DnsDoor } from "../src/names/dns-door.ts";
import { answerTo, readQuestion } from "../src/names/dns-message.ts";
import { Guests } from "../src/names/guests.ts";
import { httpDoor } from "../src/names/http-door.ts";
import { Resolver } from "../src/names/resolver.ts";
import type { NamePolicy } from "../src/network/name-proxy-protocol.ts";
import { runProgram } from "../src/system/run.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const GUEST = "127.0.0.1";
const policy: NamePolicy = {
  ...{ mode: "deny_all", allow_domains: ["*.example"], deny_domains: [], never: [], deny_cidrs: [] },
  ...{ private_networks: [], open_cidrs: [], mark: 1, inject: [] },
};

function guestsOf(resolver = new Resolver(() => Promise.resolve([]))): Guests {
  const guests = new Guests(() => resolver);
  guests.set({ guest: GUEST, policy, isNew: true });
  return guests;
}

test("a query from port 0, to which nothing can be sent, is passed over, and the next one is answered", async () => {
  const door = new DnsDoor({
    guests: guestsOf(),
    servers: () => Promise.resolve([]),
    open: () => Promise.resolve(),
  });
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

/** Of servers of this file alone. */
const server = (number: number): string => `127.77.${process.pid % 256}.${number}`;

/** Before the door ends connections that are idle, after 30 s. */
const SOON = { timeout: 15_000 } as const;

interface World {
  readonly guests: Guests;
  /** Connections to servers. */
  readonly open: Set<Socket>;
  /** A connection of the guest to the door. */
  readonly dial: () => Socket;
}

/** `s1.example` and so on lead to servers that answer with their name, but for `/never`. */
async function openDoor(servers: number): Promise<World> {
  const names = createSocket("udp4");
  names.on("message", (query, { address, port }) => {
    const question = readQuestion(query);
    if (question === undefined) return;
    const addresses = [server(Number(/\d+/.exec(question.name)?.[0]))];
    names.send(answerTo(question, 0, { addresses, ttlS: 60 }), port, address);
  });
  names.bind(0, GUEST);
  await once(names, "listening");
  cleanups.push(() => names.close());
  const { port } = names.address();
  const guests = guestsOf(new Resolver(() => Promise.resolve([{ address: GUEST, port }])));
  const open = new Set<Socket>();
  for (let number = 1; number <= servers; number += 1) {
    const site = createServer({ keepAliveTimeout: 0 }, (request, response) => {
      if (request.url !== "/never") response.end(`I am ${request.headers.host}.`);
    });
    site.on("connection", (socket) => {
      open.add(socket);
      socket.once("close", () => open.delete(socket));
    });
    site.listen(80, server(number));
    await once(site, "listening");
    cleanups.push(() => {
      site.close();
      site.closeAllConnections();
    });
  }
  const door = httpDoor(guests).listen(0, GUEST);
  await once(door, "listening");
  cleanups.push(() => {
    door.close();
    door.closeAllConnections();
  });
  const dial = (): Socket => {
    const client = connect((door.address() as AddressInfo).port, GUEST).on("error", () => undefined);
    cleanups.push(() => client.destroy());
    return client;
  };
  return { guests, open, dial };
}

const get = (number: number, url = "/"): string => `GET ${url} HTTP/1.1\r\nHost: s${number}.example\r\n\r\n`;

async function askFor(client: Socket, number: number): Promise<void> {
  let said = "";
  const take = (bytes: Buffer): void => void (said += bytes.toString());
  client.on("data", take);
  client.write(get(number));
  await expect.poll(() => said, { timeout: 20_000 }).toContain(`I am s${number}.example.`);
  client.off("data", take);
}

test("of the servers that a connection has asked it keeps connections to two, and none when it ends", async () => {
  const { open, dial } = await openDoor(6);
  const client = dial();
  for (let number = 1; number <= 6; number += 1) await askFor(client, number);
  await expect.poll(() => open.size, SOON).toBe(2);
  const kept = [...open];
  await askFor(client, 6);
  expect([...open]).toEqual(kept);
  client.destroy();
  await expect.poll(() => open.size, SOON).toBe(0);
});

test("the connections to servers that are kept for one guest are bounded over all of its own", async () => {
  const { open, dial } = await openDoor(2);
  for (let count = 0; count < 20; count += 1) {
    const client = dial();
    await askFor(client, 1);
    await askFor(client, 2);
  }
  await expect.poll(() => open.size, SOON).toBe(32);
});

test("requests that wait behind one without an answer give their places back when the connection ends", async () => {
  const { open, dial } = await openDoor(1);
  // Together more than the 128 that a guest may have under way.
  for (let count = 0; count < 10; count += 1) {
    const client = dial();
    client.write(get(1, "/never").repeat(15));
    await expect.poll(() => open.size, SOON).toBe(15);
    client.destroy();
    await expect.poll(() => open.size, SOON).toBe(0);
  }
  await askFor(dial(), 1);
});

test("a guest with an address that another one had has all of its own places", () => {
  const guests = guestsOf();
  const socket = { destroy: () => undefined };
  const takeAll = (): number[] => {
    const guest = guests.get(GUEST);
    if (guest === undefined) throw new Error("the guest is unknown");
    const takes = [
      () => guests.admit(GUEST, 443, { ...socket }),
      () => guests.admitRequest(guest, 80, socket),
      () => guests.admitKept(guest, { ...socket }),
    ];
    return takes.map((take) => {
      let taken = 0;
      while (take() !== undefined) taken += 1;
      return taken;
    });
  };
  const first = takeAll();
  expect(takeAll()).toEqual([0, 0, 0]);
  guests.set({ guest: GUEST, policy, isNew: true });
  expect(takeAll()).toEqual(first);
});

test("a connection that has ended gives its place back, and the guest is refused beyond its places alone", () => {
  const guests = guestsOf();
  const admit = () => guests.admit(GUEST, 443, { destroy: () => undefined });
  for (let count = 0; count < 600; count += 1) {
    const connection = admit();
    expect(connection).toBeDefined();
    if (connection !== undefined) guests.release(connection);
  }
  const open = Array.from({ length: 256 }, admit);
  expect(open).not.toContain(undefined);
  expect(admit()).toBeUndefined();
});

test("a lookup waits for no host that has much to open, and for none that has gone", async () => {
  const control = new ControlDoor("it", guestsOf());
  const path = join(await mkdtemp(join(tmpdir(), "skerry-door-")), "socket");
  cleanups.push(() => rm(dirname(path), { recursive: true, force: true }));
  control.server.listen(path);
  cleanups.push(() => control.server.close());
  await once(control.server, "listening");
  const host = connect(path);
  cleanups.push(() => host.destroy());
  let asked = 0;
  createInterface({ input: host }).on("line", (line) => (asked += line.includes("opening") ? 1 : 0));
  await vi.waitFor(() => expect(control.hasHost).toBe(true));
  const led = { guest: GUEST, mark: 1, addresses: ["192.0.2.1"], ttl_s: 30 };
  const waiting = Array.from({ length: 600 }, () => control.open(led));
  await Promise.all(waiting.slice(512));
  await vi.waitFor(() => expect(asked).toBe(512));
  // Those that the host works on count until it is done with them, also when their lookups wait no more.
  await Promise.all(waiting);
  await control.open(led);
  expect(asked).toBe(512);
  host.write(`${JSON.stringify({ id: 1, opened: 1 })}\n`);
  const counted = async (): Promise<void> => {
    await control.open(led);
    expect(asked).toBe(513);
  };
  await vi.waitFor(counted, { timeout: 20_000 });
  host.destroy();
  await vi.waitFor(() => expect(control.hasHost).toBe(false));
  await control.open(led);
});
