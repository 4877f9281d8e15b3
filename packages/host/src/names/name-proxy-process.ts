// The name proxy: a process of its own, under a user of its own, that what guests send to names goes through. It has read its code and
// opened its sockets before it gives up root, reads no file of the host's and has no way to it but for answers. While it is away nothing
// passes: the rules of the slots lead to its ports, and to nothing else.

import { once } from "node:events";
import { chmod, readFile, rm, stat } from "node:fs/promises";
import type { Server } from "node:net";
import { createSecureContext, rootCertificates, type SecureContext } from "node:tls";
import type { NameProxySettings } from "../network/name-proxy-protocol.ts";
import { proxyPorts } from "../network/name-proxy-protocol.ts";
import { systemServers } from "../network/name-servers.ts";
import { ControlDoor } from "./control-door.ts";
import { DnsDoor } from "./dns-door.ts";
import { Guests } from "./guests.ts";
import { InjectingDoor } from "./injecting-door.ts";
import { httpDoor } from "./http-door.ts";
import { Resolver } from "./resolver.ts";
import { tlsDoor } from "./tls-door.ts";

/** Between looks at whether it is still needed. */
const LOOK_MS = 2_000;
/** Without a guest. */
const UNUSED_LOOKS = 15;
const SERVERS_AGE_MS = 5_000;
const SOCKET_MODE = 0o600;

/** Resolves when nobody needs it any more. */
export async function runNameProxy(settings: NameProxySettings): Promise<void> {
  const { address, socket } = settings;
  const ports = proxyPorts(settings.port);
  const servers = serversOf(settings);
  const guests = new Guests(() => new Resolver(servers));
  const control = new ControlDoor(settings.identity, guests);
  const dns = new DnsDoor({ guests, servers, open: (led) => control.open(led) });
  dns.datagrams.bind(ports.dns, address);
  await once(dns.datagrams, "listening");
  await listen(dns.streams, ports.dns, address);
  const injecting = new InjectingDoor(guests, await trustedServers(settings));
  await listen(tlsDoor(guests, injecting), ports.tls, address);
  await listen(httpDoor(guests), ports.http, address);
  await rm(socket, { force: true });
  control.server.listen(socket);
  await once(control.server, "listening");
  await chmod(socket, SOCKET_MODE);
  giveUpRoot(settings.uid);
  await noLongerNeeded(control, guests, socket);
}

/** Certificates that servers are trusted by: of the common authorities, and of the operator's. */
async function trustedServers({ extraCa }: NameProxySettings): Promise<SecureContext> {
  const extra = extraCa === undefined ? [] : [await readFile(extraCa.path, "utf8")];
  return createSecureContext({ ca: [...rootCertificates, ...extra] });
}

async function listen(server: Server, port: number, address: string): Promise<void> {
  server.listen(port, address);
  await once(server, "listening");
  // A connection that could not be taken must not end the process.
  server.on("error", () => undefined);
}

function giveUpRoot(uid: number): void {
  if (process.getuid?.() !== 0) return;
  process.setgroups?.([]);
  process.setgid?.(uid);
  process.setuid?.(uid);
}

/** The machine's own servers change with its network. */
function serversOf({ servers }: NameProxySettings): () => ReturnType<typeof systemServers> {
  if (servers.length > 0) return () => Promise.resolve([...servers]);
  let [known, untilMs] = [systemServers(), performance.now() + SERVERS_AGE_MS];
  return () => {
    if (performance.now() > untilMs) [known, untilMs] = [systemServers(), performance.now() + SERVERS_AGE_MS];
    return known;
  };
}

async function noLongerNeeded(control: ControlDoor, guests: Guests, socket: string): Promise<void> {
  const { promise: unused, resolve } = Promise.withResolvers<void>();
  let looks = 0;
  const timer = setInterval(() => {
    looks = guests.isEmpty ? looks + 1 : 0;
    if (looks >= (control.hasHost ? UNUSED_LOOKS : 1)) resolve();
    // The state folder of its host has been removed.
    void stat(socket).catch((error: NodeJS.ErrnoException) => error.code === "ENOENT" && resolve());
  }, LOOK_MS);
  await Promise.race([unused, control.ended]);
  clearInterval(timer);
  control.server.close();
}
