import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { runProgram } from "../src/system/run.ts";
import { DnsForwarder } from "../src/network/dns-forwarder.ts";
import type { NameServer } from "../src/network/name-servers.ts";
import { pino } from "pino";

const log = pino({ level: "silent" });
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function udp(): Promise<{ socket: Socket; server: NameServer }> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  cleanups.push(() => socket.close());
  return { socket, server: { address: "127.0.0.1", port: socket.address().port } };
}

/** The forwarder on a port that was free a moment ago for datagrams; whether it is for streams shows. */
async function forwarder(...servers: NameServer[]): Promise<NameServer> {
  for (;;) {
    const { socket, server } = await udp();
    cleanups.pop();
    await new Promise<void>((resolve) => socket.close(resolve));
    try {
      const opened = await DnsForwarder.open({ ...server, servers: () => Promise.resolve(servers), log });
      cleanups.push(() => opened.close());
      return server;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
}

const query = Buffer.from("4142010000010000000000000161026578000001", "hex");

async function ask(to: NameServer): Promise<Buffer> {
  const { socket } = await udp();
  socket.send(query, to.port, to.address);
  const [answer] = (await once(socket, "message")) as [Buffer];
  return answer;
}

test("a query goes to the machine's server under another id, and the answer comes back under its own", async () => {
  const upstream = await udp();
  const ids = new Set<number>();
  upstream.socket.on("message", (text, { address, port }) => {
    ids.add(text.readUInt16BE());
    const answer = Buffer.concat([text, Buffer.from("answer")]);
    answer[2] = 0x81;
    upstream.socket.send(answer, port, address);
  });
  const to = await forwarder(upstream.server);
  for (let round = 0; round < 4; round += 1) {
    const answer = await ask(to);
    expect(answer.subarray(0, 2).toString()).toBe("AB");
    expect(answer.subarray(query.length).toString()).toBe("answer");
  }
  expect(ids.size).toBeGreaterThan(1);
});

test("an answer with another id, from another server, or that is no answer is not believed", async () => {
  const [upstream, stranger] = [await udp(), await udp()];
  upstream.socket.on("message", (text, { address, port }) => {
    const forged = Buffer.concat([text, Buffer.from("forged")]);
    upstream.socket.send(forged, port, address);
    forged[2] = 0x81;
    stranger.socket.send(forged, port, address);
    forged[0] = (forged[0] ?? 0) ^ 1;
    upstream.socket.send(forged, port, address);
    const right = Buffer.concat([text, Buffer.from("right")]);
    right[2] = 0x81;
    setTimeout(() => upstream.socket.send(right, port, address), 50);
  });
  const answer = await ask(await forwarder(upstream.server));
  expect(answer.subarray(query.length).toString()).toBe("right");
});

test("where the first server is silent the second is asked, and where none answers the guest is told", async () => {
  const [silent, upstream] = [await udp(), await udp()];
  upstream.socket.on("message", (text, { address, port }) => {
    const answer = Buffer.from(text);
    answer[2] = 0x81;
    upstream.socket.send(answer, port, address);
  });
  expect((await ask(await forwarder(silent.server, upstream.server)))[3]).toBe(0);
  const failure = await ask(await forwarder());
  expect([failure.subarray(0, 2).toString(), (failure[2] ?? 0) & 0x80, (failure[3] ?? 0) & 0x0f]).toEqual([
    "AB",
    0x80,
    2,
  ]);
});

test("one guest has a bounded number of queries under way", async () => {
  const silent = await udp();
  let arrived = 0;
  silent.socket.on("message", () => (arrived += 1));
  const to = await forwarder(silent.server);
  const { socket } = await udp();
  for (let count = 0; count < 100; count += 1) socket.send(query, to.port, to.address);
  await once(socket, "message");
  expect(arrived).toBe(32);
});

test("a query from port 0, to which nothing can be sent, is passed over, and the next one is answered", async () => {
  const { server, arrived } = await answering();
  const to = await forwarder(server);
  const packet = Buffer.concat([Buffer.alloc(8), silentName]);
  packet.writeUInt16BE(to.port, 2);
  packet.writeUInt16BE(packet.length, 4);
  await sendRaw(to.address, packet);
  expect((await ask(to))[3]).toBe(0);
  expect(arrived()).toBe(0);
  // Answered at once, so that without the check the send would have failed before the next answer.
  const answered = Buffer.concat([packet.subarray(0, 8), query]);
  answered.writeUInt16BE(answered.length, 4);
  await sendRaw(to.address, answered);
  expect((await ask(to))[3]).toBe(0);
});

/** A datagram with its UDP header as it is. */
async function sendRaw(address: string, packet: Buffer): Promise<void> {
  const program =
    "import socket, sys; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)" +
    ".sendto(bytes.fromhex(sys.argv[2]), (sys.argv[1], 0))";
  await runProgram("python3", ["-c", program, address, packet.toString("hex")], { deadlineMs: 20_000 });
}

test("a server to which there is no way is passed over", async () => {
  const { server } = await answering();
  // The kernel refuses to connect a socket to a broadcast address.
  const unreachable = { address: "255.255.255.255", port: 53 };
  expect((await ask(await forwarder(unreachable, server)))[3]).toBe(0);
});

/** What its server never answers. */
const silentName = Buffer.from("4142010000010000000000000173026578000001", "hex");

/** Names but one are answered. `arrived`: how many queries for that one. */
async function answering(): Promise<{ readonly server: NameServer; readonly arrived: () => number }> {
  const { socket, server } = await udp();
  let arrived = 0;
  socket.on("message", (text, { address, port }) => {
    if (text.subarray(12).equals(silentName.subarray(12))) return void (arrived += 1);
    const answer = Buffer.from(text);
    answer[2] = 0x81;
    socket.send(answer, port, address);
  });
  return { server, arrived: () => arrived };
}

const guestAddress = (number: number): string => `127.1.0.${number}`;

test.each([16, 60, 100])(
  "%i guests who ask for a name that nobody answers leave another one its answers",
  async (guests) => {
    const { server, arrived } = await answering();
    const to = await forwarder(server);
    const sockets = await Promise.all(
      Array.from({ length: guests }, async (_, number) => {
        const socket = createSocket("udp4").bind(0, guestAddress(number + 1));
        await once(socket, "listening");
        cleanups.push(() => socket.close());
        return socket;
      }),
    );
    // So few at a time that the kernel drops none of them, nor a question beside them.
    let next = 0;
    const flood = setInterval(() => {
      for (const end = next + 10; next < end; next += 1) {
        sockets[next % guests]?.send(silentName, to.port, to.address);
      }
    }, 5);
    cleanups.push(() => clearInterval(flood));
    await expect.poll(arrived, { timeout: 60_000 }).toBeGreaterThanOrEqual(512);
    for (let round = 0; round < 10; round += 1) expect((await ask(to))[3]).toBe(0);
  },
);

test.each([16, 60, 100])("%i guests whose streams stay open leave another one a stream", async (guests) => {
  const upstream = createServer((one) => {
    one.on("error", () => undefined);
    one.once("data", (text) => one.end(text));
  });
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
  cleanups.push(() => upstream.close());
  const to = await forwarder({ address: "127.0.0.1", port: (upstream.address() as AddressInfo).port });
  for (let number = 1; number <= guests; number += 1) {
    for (let stream = 0; stream < 8; stream += 1) {
      const idle = connect({ host: to.address, port: to.port, localAddress: guestAddress(number) });
      idle.on("error", () => undefined);
      cleanups.push(() => idle.destroy());
      await new Promise((resolve) => idle.once("connect", resolve).once("close", resolve));
    }
  }
  const client = connect(to.port, to.address);
  client.write("question");
  const [answer] = (await once(client, "data")) as [Buffer];
  expect(answer.toString()).toBe("question");
});

test("a query over TCP is passed through, and the server's end of it reaches the guest", async () => {
  const upstream = createServer((one) => one.once("data", (text) => one.end(Buffer.concat([text, text]))));
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
  cleanups.push(() => upstream.close());
  const to = await forwarder({ address: "127.0.0.1", port: (upstream.address() as AddressInfo).port });
  const client = connect(to.port, to.address);
  client.write("question");
  const pieces: Buffer[] = [];
  for await (const piece of client) pieces.push(piece as Buffer);
  expect(Buffer.concat(pieces).toString()).toBe("questionquestion");
});
