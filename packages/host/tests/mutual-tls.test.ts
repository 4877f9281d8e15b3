// The host API over TCP: who gets in, and who does not.

import { createPrivateKey, X509Certificate, type KeyObject } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { connect as connectPlain, createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import type { ConnectionOptions } from "node:tls";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { CONTROL_URI, hostUri, type HostCertificate } from "@skerry/contract/joining/host-certificate";
import { newId } from "@skerry/contract/ids";
import { fastify } from "fastify";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  certify,
  makeAuthority,
  newKeyPair,
  pemOf,
  requestedKey,
  type Leaf,
} from "../../control/src/joining/x509.ts";
import type { Host } from "../src/app/host.ts";
import { GENERATION_HEADER } from "@skerry/contract/host-api/generation";
import { ControlGeneration } from "../src/system/control-generation.ts";
import { refuseStrangers } from "../src/http/callers.ts";
import { refuseSuperseded } from "../src/http/superseded.ts";
import type { HostServer } from "../src/http/conventions.ts";
import { registerIdentity } from "../src/http/identity.ts";
import { mutualTlsLimits, serveMutualTls } from "../src/http/mutual-tls.ts";
import { validatorCompiler } from "../src/http/validator-compiler.ts";
import { Identity } from "../src/config/identity.ts";

const DAY_MS = 24 * 3_600_000;
const log = pino({ level: "silent" });
const hostId = newId("host");

interface TestAuthority {
  readonly pem: string;
  readonly keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
}

function newAuthority(): TestAuthority {
  const { certificate, privateKey } = makeAuthority();
  const { publicKey } = new X509Certificate(certificate);
  return { pem: certificate, keys: { privateKey: createPrivateKey(privateKey), publicKey } };
}

let folder: string;
let authority: TestAuthority;
let identity: Identity;
let server: HostServer;
let secured: AsyncDisposable;
let port: number;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "skerry-identity-"));
  authority = newAuthority();
  identity = await Identity.open(folder);
  server = fastify().withTypeProvider<TypeBoxTypeProvider>();
  server.setValidatorCompiler(validatorCompiler);
  refuseStrangers(server);
  refuseSuperseded(server, { identity, generation: await ControlGeneration.open(folder) });
  registerIdentity(server, { identity } as Host);
  server.get("/control-only", () => ({}));
  server.get("/for-hosts", { config: { hostsMayCall: true } }, () => ({}));
  port = await freePort();
  secured = await serveMutualTls(server, {
    endpoint: { host: "0.0.0.0", port },
    identity,
    log,
    limits: { ...mutualTlsLimits, headMs: 500, strangersPerAddress: 4 },
  });
  await identity.install(certificateFor(identity), { mayChange: true });
});

afterEach(async () => {
  await secured[Symbol.asyncDispose]();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What control would answer to its request. */
function certificateFor(asking: Identity, changes: Partial<Leaf> = {}, by = authority): HostCertificate {
  const leaf: Leaf = {
    uri: hostUri(hostId),
    publicKey: requestedKey(asking.request()),
    purposes: ["server", "client"],
    lifetimeMs: DAY_MS,
    ...changes,
  };
  return { host_id: hostId, certificate: certify(by.keys, leaf), authority: by.pem };
}

/** Credentials of somebody with this name. */
function credentialsOf(uri: string, changes: Partial<Leaf> = {}, by = authority): ConnectionOptions {
  const { publicKey, privateKey } = newKeyPair();
  const leaf: Leaf = { uri, publicKey, purposes: ["client"], lifetimeMs: DAY_MS, ...changes };
  return { key: pemOf(privateKey), cert: certify(by.keys, leaf) };
}

/** The status of the answer, or the code of what went wrong. */
function call(
  path: string,
  options: ConnectionOptions,
  init: { method?: string; body?: object; headers?: Record<string, string> } = {},
) {
  return new Promise<number | string>((resolve) => {
    const request = httpsRequest({
      ...{ host: "127.0.0.1", port, path, method: init.method ?? "GET", agent: false },
      headers: { "content-type": "application/json", ...init.headers },
      ca: authority.pem,
      checkServerIdentity: () => undefined,
      ...options,
    });
    request.once("response", (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
    request.end(init.body === undefined ? "" : JSON.stringify(init.body));
  });
}

test("control may call everything, another host only what is for hosts", async () => {
  const control = credentialsOf(CONTROL_URI);
  expect(await call("/control-only", control)).toBe(200);
  expect(await call("/for-hosts", control)).toBe(200);
  const other = credentialsOf(hostUri(newId("host")));
  expect(await call("/for-hosts", other)).toBe(200);
  for (const path of ["/control-only", "/identity", "/nowhere"])
    expect(await call(path, other), path).toBe(403);
  expect(await call("/identity/request", other, { method: "POST" })).toBe(403);
});

test("of two control planes the host obeys the one that took over last, also after a restart", async () => {
  const of = (generation: string) =>
    call("/control-only", credentialsOf(CONTROL_URI), { headers: { [GENERATION_HEADER]: generation } });
  expect(await of("0")).toBe(200);
  expect(await of("1790000000")).toBe(200);
  expect(await of("1790000000")).toBe(200);
  expect(await of("0")).toBe(409);
  // One of a version that knows no generations.
  expect(await call("/control-only", credentialsOf(CONTROL_URI))).toBe(409);
  expect(await of("-1")).toBe(400);
  const other = credentialsOf(hostUri(newId("host")));
  expect(await call("/for-hosts", other)).toBe(200);
  const restarted = await ControlGeneration.open(folder);
  expect(await restarted.admit(hostId, 1_789_999_999)).toBe(false);
  expect(await restarted.admit(newId("host"), 0)).toBe(true);
});

test("a name that only looks like one of ours is nobody's", async () => {
  const names = [
    "skerry://control.example.org",
    "skerry://controller",
    "SKERRY://CONTROL",
    "skerry://host/",
    `${hostUri(hostId)}/..`,
    `skerry://control, URI:${hostUri(hostId)}`,
    "https://control",
  ];
  for (const uri of names) expect(await call("/for-hosts", credentialsOf(uri)), uri).toBe(403);
});

test("nobody gets in without a certificate of the authority that is valid and for a client", async () => {
  const strangers: Record<string, ConnectionOptions> = {
    none: {},
    "of another authority": credentialsOf(CONTROL_URI, {}, newAuthority()),
    expired: credentialsOf(CONTROL_URI, { lifetimeMs: -1_000 }),
    "for a server": credentialsOf(CONTROL_URI, { purposes: ["server"] }),
    "over TLS 1.2": { ...credentialsOf(CONTROL_URI), maxVersion: "TLSv1.2" },
  };
  for (const [kind, options] of Object.entries(strangers))
    expect(await call("/for-hosts", options), kind).toEqual(expect.any(String));
});

test("a host's certificate certifies nobody else", async () => {
  const { publicKey, privateKey } = newKeyPair();
  const leaf: Leaf = { uri: hostUri(hostId), publicKey, purposes: ["client", "server"], lifetimeMs: DAY_MS };
  const host = { pem: certify(authority.keys, leaf), keys: { publicKey, privateKey } };
  const forged = credentialsOf(CONTROL_URI, {}, host);
  expect(await call("/control-only", { ...forged, cert: `${String(forged.cert)}${host.pem}` })).toEqual(
    expect.any(String),
  );
});

test("who is silent or speaks no TLS is cut off, and keeps nobody else out", async () => {
  const silent = Array.from({ length: 10 }, () =>
    connectPlain({ port, host: "127.0.0.1", localAddress: "127.0.0.2" }),
  );
  const noisy = connectPlain({ port, host: "127.0.0.1", localAddress: "127.0.0.3" });
  noisy.end("GET /control-only HTTP/1.1\r\nHost: host\r\n\r\n");
  const ends = [...silent, noisy].map(ended);
  expect(await call("/control-only", credentialsOf(CONTROL_URI))).toBe(200);
  expect((await Promise.all(ends)).join("")).not.toContain("HTTP/1.1 200");
});

/** What came until the other side ended the connection. */
async function ended(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (data) => (text += data.toString("latin1"))).on("error", () => undefined);
  await once(socket, "close");
  return text;
}

test("one address has few handshakes at once, and no peer is kept out, also none at that address", async () => {
  const other = await freePort();
  const limits = { headMs: 60_000, strangersPerAddress: 4, strangers: 6 };
  const endpoint = { host: "0.0.0.0", port: other };
  await using _patient = await serveMutualTls(server, { endpoint, identity, log, limits });
  const sockets: Socket[] = [];
  const leave = (open: number) =>
    vi.waitUntil(() => sockets.filter(({ closed }) => !closed).length === open, 60_000);
  const flood = async (localAddress: string) => {
    for (let n = 0; n < 12; n += 1) {
      const socket = connectPlain({ port: other, host: "127.0.0.1", localAddress });
      sockets.push(socket.on("error", () => undefined).resume());
      await once(socket, "connect");
    }
  };
  await flood("127.0.0.2");
  await leave(limits.strangersPerAddress);
  for (const address of ["127.0.0.1", "127.0.0.3"]) await flood(address);
  await leave(limits.strangers);
  for (const localAddress of ["127.0.0.1", "127.0.0.2"]) {
    const control = { ...credentialsOf(CONTROL_URI), port: other, localAddress };
    expect(await call("/control-only", control)).toBe(200);
  }
  for (const socket of sockets) socket.destroy();
});

test("a new certificate is in use without a restart, under a new key", async () => {
  const control = credentialsOf(CONTROL_URI);
  const seen: string[] = [];
  const look = {
    ...control,
    checkServerIdentity: (_: string, { fingerprint256 }: { fingerprint256: string }) =>
      void seen.push(fingerprint256),
  };
  expect(await call("/control-only", look)).toBe(200);
  const before = readFileSync(join(folder, "identity.json"), "utf8");
  expect(await call("/identity", look, { method: "PUT", body: certificateFor(identity) })).toBe(204);
  expect(await call("/control-only", look)).toBe(200);
  expect(new Set(seen).size).toBe(2);
  const after = readFileSync(join(folder, "identity.json"), "utf8");
  const keyOf = (text: string) => (JSON.parse(text) as { private_key: string }).private_key;
  expect(keyOf(after)).not.toBe(keyOf(before));
  expect(statSync(join(folder, "identity.json")).mode & 0o777).toBe(0o600);
  expect((await Identity.open(folder)).hostId).toBe(hostId);
});

test("a certificate is refused that is not for this host and its new key, or not valid by its clock", async () => {
  const control = credentialsOf(CONTROL_URI);
  const wrong: Record<string, () => HostCertificate> = {
    "for another key": () => certificateFor(identity, { publicKey: newKeyPair().publicKey }),
    "for another host": () => certificateFor(identity, { uri: hostUri(newId("host")) }),
    "for control": () => certificateFor(identity, { uri: CONTROL_URI }),
    expired: () => certificateFor(identity, { lifetimeMs: -1_000 }),
    "by another authority": () => certificateFor(identity, {}, newAuthority()),
    "by an authority that is not its issuer": () => ({
      ...certificateFor(identity),
      authority: newAuthority().pem,
    }),
    nonsense: () => ({ ...certificateFor(identity), certificate: "nonsense" }),
  };
  for (const [kind, make] of Object.entries(wrong))
    expect(await call("/identity", control, { method: "PUT", body: make() }), kind).toBe(400);
  expect(await call("/control-only", control)).toBe(200);
});

test.each([-5, 5])("a clock that is %d minutes off changes nothing", async (minutes) => {
  const certificate = certificateFor(identity);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + minutes * 60_000 });
  try {
    await identity.install(certificate, { mayChange: false });
  } finally {
    vi.useRealTimers();
  }
  expect(await call("/control-only", credentialsOf(CONTROL_URI))).toBe(200);
});

test("while the authority is changed, control gets in by either, and afterwards by the new one alone", async () => {
  const next = newAuthority();
  const bring = (pem: string, by: TestAuthority) => {
    const { certificate } = certificateFor(identity, {}, by);
    return identity.install({ host_id: hostId, certificate, authority: pem }, { mayChange: false });
  };
  const ca = authority.pem + next.pem;
  const asControl = async () => [
    await call("/control-only", { ...credentialsOf(CONTROL_URI), ca }),
    await call("/control-only", { ...credentialsOf(CONTROL_URI, {}, next), ca }),
  ];
  // The alert may come before or after the end of the connection.
  const refused = expect.stringMatching(/UNKNOWN_CA|ECONNRESET/) as unknown;
  expect(await asControl()).toEqual([200, refused]);
  // Nothing that the host trusts vouches for the new one yet.
  await expect(bring(next.pem, next)).rejects.toThrow("another one");
  await bring(ca, authority);
  expect(await asControl()).toEqual([200, 200]);
  await bring(next.pem + authority.pem, next);
  expect(await asControl()).toEqual([200, 200]);
  await bring(next.pem, next);
  expect(await asControl()).toEqual([refused, 200]);
  await expect(bring(authority.pem, authority)).rejects.toThrow("another one");
  const later = await Identity.open(folder);
  expect(later.credentials?.ca).toBe(next.pem);
});

test("a port that is taken is said so", async () => {
  const taken = serveMutualTls(server, { endpoint: { host: "0.0.0.0", port }, identity, log });
  await expect(taken).rejects.toThrow(`cannot listen on 0.0.0.0:${port}: EADDRINUSE`);
});

test("a request can be answered once", async () => {
  const control = credentialsOf(CONTROL_URI);
  const certificate = certificateFor(identity);
  expect(await call("/identity", control, { method: "PUT", body: certificate })).toBe(204);
  expect(await call("/identity", control, { method: "PUT", body: certificate })).toBe(400);
});

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port: free } = probe.address() as AddressInfo;
  probe.close();
  return free;
}
