// Port 443 of guests whose policy decides by names: reads the name out of the ClientHello, and passes the bytes on to where the name leads
// by this machine's own lookup. TLS stays between the guest and the server.

import { createServer, connect, type Server, type Socket } from "node:net";
import { canonicalName } from "@skerry/contract/domains";
import { HELLO_MAX_BYTES, readClientHello, type Hello } from "./client-hello.ts";
import { findWay } from "./find-way.ts";
import type { Connection, Guests } from "./guests.ts";
import type { InjectingDoor } from "./injecting-door.ts";

const HELLO_DEADLINE_MS = 10_000;
const CONNECT_DEADLINE_MS = 10_000;
/** For a client to read that it is denied. */
const DENIED_MS = 1_000;
/** Without a byte either way. */
const IDLE_DEADLINE_MS = 60 * 60_000;
const TLS_PORT = 443;
/** A fatal alert `access_denied` (49) of TLS 1.2's record layer, which every client understands. */
const ACCESS_DENIED = Buffer.from([21, 3, 3, 0, 2, 2, 49]);

export function tlsDoor(guests: Guests, injecting: InjectingDoor): Server {
  return createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true }, (client) => {
    client.on("error", () => client.destroy());
    const connection = guests.admit(client.remoteAddress ?? "", TLS_PORT, client);
    if (connection === undefined) return void client.resetAndDestroy();
    client.once("close", () => guests.release(connection));
    void pass(connection, client, injecting).catch(() => client.destroy());
  });
}

async function pass(connection: Connection, client: Socket, injecting: InjectingDoor): Promise<void> {
  const { guest } = connection;
  const hello = await helloOf(client);
  if (hello === undefined) return void client.destroy();
  const name = hello.name === undefined ? undefined : canonicalName(hello.name);
  if (name === undefined) {
    guest.refuse({ rule: "no_domain", port: TLS_PORT, protocol: "tcp" });
    return deny(client);
  }
  const way = await findWay(guest, name, TLS_PORT);
  if (client.destroyed) return;
  if (way.kind !== "open") return deny(client);
  if (guest.policy.injection.concerns(name)) {
    const isTaken = await injecting.take(client, { connection, hello, to: way.to });
    return isTaken ? undefined : deny(client);
  }
  connection.destinations.add(way.to);
  const server = await connected(way.to.address, client);
  if (server === undefined) return void client.resetAndDestroy();
  server.write(hello.bytes);
  client.pipe(server);
  server.pipe(client);
}

/** Undefined where the client has gone, or has taken too long. Without a name: it is to be refused. */
function helloOf(client: Socket): Promise<Hello | undefined> {
  return new Promise((resolve) => {
    const held = Buffer.alloc(HELLO_MAX_BYTES);
    let length = 0;
    let needed = 1;
    const end = (found?: Hello): void => {
      clearTimeout(deadline);
      client.pause();
      client.off("data", take).off("end", gone).off("close", gone);
      resolve(found);
    };
    const gone = (): void => end();
    const take = (bytes: Buffer): void => {
      const copied = bytes.copy(held, length);
      length += copied;
      if (length < needed) return;
      const result = readClientHello(held.subarray(0, length));
      if (result.kind === "more") return void (needed = result.bytes);
      const { name, protocols } = result.kind === "name" ? result : { name: undefined, protocols: [] };
      end({ bytes: Buffer.concat([held.subarray(0, length), bytes.subarray(copied)]), name, protocols });
    };
    const deadline = setTimeout(gone, HELLO_DEADLINE_MS);
    client.on("data", take).once("end", gone).once("close", gone);
  });
}

function deny(client: Socket): void {
  client.end(ACCESS_DENIED);
  // What it still sends must not turn the answer into a reset that is read first; it may not hold the connection with it either.
  client.resume();
  const timer = setTimeout(() => client.destroy(), DENIED_MS);
  client.once("close", () => clearTimeout(timer));
}

/** Undefined where the server does not take the connection, or the client has gone. */
function connected(address: string, client: Socket): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const server = connect({
      host: address,
      port: TLS_PORT,
      noDelay: true,
      keepAlive: true,
      allowHalfOpen: true,
    });
    const timer = setTimeout(() => server.destroy(), CONNECT_DEADLINE_MS);
    server.once("connect", () => {
      clearTimeout(timer);
      // What is written counts as well, so it is one deadline for both directions.
      client.setTimeout(IDLE_DEADLINE_MS, () => client.destroy());
      resolve(client.destroyed ? undefined : server);
    });
    server.on("error", () => server.destroy());
    server.once("close", () => {
      clearTimeout(timer);
      client.destroySoon();
      resolve(undefined);
    });
    client.once("close", () => server.destroy());
  });
}
