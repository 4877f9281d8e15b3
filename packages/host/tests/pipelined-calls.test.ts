// A peer of the host API over TCP that sends calls without waiting for the answers to those before.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { CONTROL_URI, hostUri } from "@skerry/contract/joining/host-certificate";
import { newId } from "@skerry/contract/ids";
import { fastify } from "fastify";
import { pino } from "pino";
import { expect, test } from "vitest";
import { certify, makeAuthority, newKeyPair, pemOf, requestedKey } from "../../control/src/joining/x509.ts";
import type { HostServer } from "../src/http/conventions.ts";
import { serveMutualTls } from "../src/http/mutual-tls.ts";
import { Identity } from "../src/config/identity.ts";

const lifetimeMs = 24 * 3_600_000;

test("a peer that does not wait for answers has a bounded number of calls served at once", async () => {
  await using undo = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "skerry-pipelined-"));
  undo.defer(() => rmSync(folder, { recursive: true }));
  const { certificate: authority, privateKey: authorityKey } = makeAuthority();
  const { publicKey } = new X509Certificate(authority);
  const keys = { privateKey: createPrivateKey(authorityKey), publicKey };
  let served = 0;
  const server = fastify() as unknown as HostServer;
  undo.defer(() => server.close());
  server.get("/call", () => {
    served += 1;
    return {};
  });
  const identity = await Identity.open(folder);
  const port = await freePort();
  const endpoint = { host: "127.0.0.1", port };
  undo.use(await serveMutualTls(server, { endpoint, identity, log: pino({ level: "silent" }) }));
  const hostId = newId("host");
  const asked = requestedKey(identity.request());
  const own = { uri: hostUri(hostId), publicKey: asked, purposes: ["server", "client"], lifetimeMs } as const;
  await identity.install(
    { host_id: hostId, certificate: certify(keys, own), authority },
    { mayChange: true },
  );

  const control = newKeyPair();
  const leaf = { uri: CONTROL_URI, publicKey: control.publicKey, purposes: ["client"], lifetimeMs } as const;
  const credentials = { key: pemOf(control.privateKey), cert: certify(keys, leaf), ca: authority };
  const socket = connect({ ...endpoint, ...credentials, checkServerIdentity: () => undefined });
  socket.on("error", () => undefined).resume();
  await once(socket, "secureConnect");
  socket.write("GET /call HTTP/1.1\r\nhost: h\r\n\r\n".repeat(1_000));
  await once(socket, "close");
  expect(served).toBeGreaterThan(0);
  expect(served).toBeLessThanOrEqual(16);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
