// One query to one name server. Each has a socket, and so a port, of its own, and an id that the guest does
// not know: an answer is believed only from the server that was asked, on that port, with that id.

import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { connect, isIPv4 } from "node:net";
import type { NameServer } from "./name-servers.ts";

/** A resolver library waits 5 s in all; a dead first server must leave time for the second. */
const ANSWER_DEADLINE_MS = 2_000;
const HEADER_BYTES = 12;
const RESPONSE_BIT = 0x80;
/** Before a message over TCP. */
const LENGTH_BYTES = 2;

/** Undefined where the server does not answer in time. */
export function sendDnsQuery(
  server: NameServer,
  query: Buffer,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv4(server.address) ? "udp4" : "udp6");
    const id = randomInt(0x1_00_00);
    const sent = Buffer.from(query);
    sent.writeUInt16BE(id);
    let ended = false;
    const end = (answer?: Buffer): void => {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      signal.removeEventListener("abort", giveUp);
      socket.close();
      resolve(answer);
    };
    const giveUp = (): void => end();
    const timer = setTimeout(giveUp, ANSWER_DEADLINE_MS);
    signal.addEventListener("abort", giveUp, { once: true });
    socket.on("error", giveUp);
    socket.on("message", (message) => {
      if (message.length < HEADER_BYTES || message.readUInt16BE() !== id) return;
      if (((message[2] ?? 0) & RESPONSE_BIT) === 0) return;
      query.copy(message, 0, 0, 2);
      end(message);
    });
    // Connected, it takes datagrams from this server only. Where there is no way to the server the callback gets an error, and to send
    // then throws.
    socket.connect(server.port, server.address, (error?: Error) => {
      if (error !== undefined) return end();
      if (!ended) socket.send(sent);
    });
  });
}

/** The same over TCP, for answers that no datagram holds. */
export function sendDnsQueryByStream(
  server: NameServer,
  query: Buffer,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: server.address, port: server.port, noDelay: true });
    let held = Buffer.alloc(0);
    const end = (answer?: Buffer): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", giveUp);
      socket.destroy();
      resolve(answer);
    };
    const giveUp = (): void => end();
    const timer = setTimeout(giveUp, ANSWER_DEADLINE_MS);
    signal.addEventListener("abort", giveUp, { once: true });
    socket.on("error", giveUp).once("close", giveUp);
    socket.on("data", (bytes: Buffer) => {
      held = Buffer.concat([held, bytes]);
      const length = held.length < LENGTH_BYTES ? Infinity : held.readUInt16BE(0);
      if (held.length < LENGTH_BYTES + length) return;
      const message = held.subarray(LENGTH_BYTES, LENGTH_BYTES + length);
      end(length < HEADER_BYTES ? undefined : message);
    });
    const prefix = Buffer.alloc(LENGTH_BYTES);
    prefix.writeUInt16BE(query.length);
    socket.write(Buffer.concat([prefix, query]));
  });
}
