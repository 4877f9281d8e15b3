// What browsers are told, who may call us from one, and the API over TLS.

import { X509Certificate } from "node:crypto";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSandboxCertificate } from "../src/app/sandbox-certificate.ts";
import { CertificateError, readKeyPair, renewTlsCertificate } from "../src/app/tls-certificate.ts";
import packageJson from "../package.json" with { type: "json" };
import { readConfig } from "../src/app/config.ts";
import { buildServer, type Server } from "../src/app/server.ts";
import { send } from "./support/raw-requests.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "skerry-tls-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
});

const always = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "skerry-version": packageJson.version,
} as const;

test("every answer tells a browser to keep nothing, run nothing and show it nowhere", async () => {
  const { id } = await world.createSandbox();
  await world.call("PUT", `/v1/sandboxes/${id}/files/page.html`, { body: "<script>" });
  const answers = await Promise.all([
    world.call("GET", "/v1/health", { token: "" }),
    world.call("GET", "/v1/sizes"),
    world.call("GET", "/v1/sizes", { token: "" }),
    world.call("GET", "/nowhere"),
    world.call("DELETE", "/v1/sizes"),
    world.call("POST", "/v1/sandboxes", { body: "{" }),
    world.call("GET", `/v1/sandboxes/${id}/files/page.html`),
    world.call("POST", `/v1/sandboxes/${id}/execute`, {
      body: { command: "pwd" },
      headers: { accept: "text/event-stream" },
    }),
  ]);
  for (const { status, headers } of answers) {
    expect({ status, ...Object.fromEntries(headers) }).toMatchObject(always);
    expect(headers.has("strict-transport-security")).toBe(false);
    expect(headers.has("access-control-allow-origin")).toBe(false);
  }
  const [broken] = await send(world.server, "nonsense\r\n\r\n");
  for (const [name, value] of Object.entries(always)) expect(broken?.head).toContain(`${name}: ${value}`);
});

async function serving(corsOrigins: readonly string[]): Promise<Server & AsyncDisposable & { url: string }> {
  const server = await buildServer(world.context, { corsOrigins });
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = server.app.server.address() as AddressInfo;
  return { ...server, url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => server.stop(0) };
}

const preflight = (origin: string) => ({
  method: "OPTIONS",
  headers: {
    origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization",
  },
});

test("a page of another origin may call only where the settings name its origin", async () => {
  const [ours, other] = ["https://app.example.com", "https://app.example.com.evil.test"];
  await using server = await serving([ours]);
  const asked = await fetch(`${server.url}/v1/sandboxes`, preflight(ours));
  expect([asked.status, asked.headers.get("access-control-allow-origin")]).toEqual([204, ours]);
  expect(asked.headers.get("access-control-allow-headers")).toContain("Authorization");
  expect(asked.headers.has("access-control-allow-credentials")).toBe(false);
  const answer = await fetch(`${server.url}/v1/sizes`, {
    headers: { origin: ours, authorization: `Bearer ${world.token}` },
  });
  expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, ours]);
  expect(answer.headers.get("access-control-expose-headers")).toContain("X-Request-Id");
  for (const origin of [other, "null", "https://app.example.com:8443"]) {
    const refused = await fetch(`${server.url}/v1/sandboxes`, preflight(origin));
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([404, null]);
    // A cache must not give one origin's answer to another.
    expect(refused.headers.get("vary")).toBe("Origin");
  }
  const nobody = await fetch(`${world.url}/v1/sandboxes`, preflight(ours));
  expect([nobody.status, nobody.headers.get("access-control-allow-origin")]).toEqual([404, null]);
});

test("settings for the web are refused where they cannot be meant", () => {
  const read = (environment: Record<string, string>) => () =>
    readConfig({ SKERRY_DATABASE_URL: "postgresql:///skerry", ...environment });
  for (const origins of ["*", "app.example.com", "https://a.test/", "https://a.test,null"]) {
    expect(read({ SKERRY_CORS_ORIGINS: origins }), origins).toThrow("SKERRY_CORS_ORIGINS");
  }
  expect(read({ SKERRY_CORS_ORIGINS: "https://a.test, http://localhost:3000" })().corsOrigins).toEqual([
    "https://a.test",
    "http://localhost:3000",
  ]);
  expect(read({})()).toMatchObject({ corsOrigins: [], tls: undefined });
  expect(read({ SKERRY_TLS_CERT: "/a.pem" })).toThrow("SKERRY_TLS_KEY");
  expect(read({ SKERRY_TLS_CERT: "/a.pem", SKERRY_TLS_KEY: "/b.pem" })().tls).toEqual({
    listen: { host: "0.0.0.0", port: 7443 },
    certFile: "/a.pem",
    keyFile: "/b.pem",
  });
});

/** A certificate of our own for 127.0.0.1, and its key. */
function makePair(name: string, names = "IP:127.0.0.1"): { certFile: string; keyFile: string } {
  const [certFile, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  const subject = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=${names}`];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", keyFile];
  execFileSync("openssl", ["req", "-x509", "-days", "1", ...key, "-out", certFile, ...subject], {
    stdio: "ignore",
  });
  return { certFile, keyFile };
}

async function ask(port: number, ca: string): Promise<{ status: number; hsts: unknown; name: unknown }> {
  const request = get({ host: "127.0.0.1", port, path: "/v1/health", ca, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.resume();
  const socket = response.socket as TLSSocket;
  return {
    status: response.statusCode ?? 0,
    hsts: response.headers["strict-transport-security"],
    name: socket.getPeerCertificate().subject.CN,
  };
}

test("over TLS the API is the same, browsers stay with it, and a renewed certificate needs no restart", async () => {
  const [first, second] = [makePair("first"), makePair("second")];
  const tls = { listen: { host: "127.0.0.1", port: 0 }, ...makePair("used") };
  const use = (pair: typeof first) => {
    copyFileSync(pair.certFile, tls.certFile);
    copyFileSync(pair.keyFile, tls.keyFile);
  };
  use(first);
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  await using server = await serving([]);
  const pair = await readKeyPair(tls);
  const secured = server.overTls(pair);
  secured.listen(0, "127.0.0.1");
  await once(secured, "listening");
  const ends: number[] = [];
  const expires = (atS: number) => void ends.push(atS);
  using _renewal = renewTlsCertificate(secured, { tls, pair, everyMs: 20, log, expires });
  const { port } = secured.address() as AddressInfo;
  const ca = [first, second].map(({ certFile }) => readFileSync(certFile, "utf8")).join("");
  expect(await ask(port, ca)).toEqual({ status: 200, hsts: "max-age=31536000", name: "first" });

  writeFileSync(tls.certFile, "half a certif");
  await eventually(() => lines.join().includes("cannot be used"), "a broken certificate is reported");
  expect((await ask(port, ca)).name).toBe("first");
  use(second);
  await eventually(() => lines.join().includes("was renewed"), "the certificate is renewed");
  expect((await ask(port, ca)).name).toBe("second");
  // Metrics tell the end of each that was used, and not of what could not be.
  expect(ends).toEqual(
    [first, second].map(
      ({ certFile }) => Date.parse(new X509Certificate(readFileSync(certFile)).validTo) / 1_000,
    ),
  );

  const old = connectTls({ host: "127.0.0.1", port, ca, maxVersion: "TLSv1.1", minVersion: "TLSv1" });
  const [error] = (await once(old, "error")) as [Error];
  expect(error.message).toMatch(/protocol version|unsupported protocol|no protocols/i);
  await expect(fetch(`http://127.0.0.1:${port}/v1/health`)).rejects.toThrow();
  expect((await ask(port, ca)).status).toBe(200);
});

test("names of ports have a certificate of their own, which is renewed like the API's", async () => {
  const api = makePair("api");
  const [first, second] = [
    makePair("first-ports", "DNS:*.sandboxes.test"),
    makePair("second-ports", "DNS:*.sandboxes.test"),
  ];
  const certificate = makePair("used-ports");
  const use = (pair: typeof api) => {
    copyFileSync(pair.certFile, certificate.certFile);
    copyFileSync(pair.keyFile, certificate.keyFile);
  };
  use(first);
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const config = { domain: "sandboxes.test", certificate };
  using ofPorts = await openSandboxCertificate(config, { everyMs: 20, log });
  await using server = await serving([]);
  const secured = server.overTls(await readKeyPair(api), (name) => ofPorts?.contextFor(name));
  secured.listen(0, "127.0.0.1");
  await once(secured, "listening");
  const { port } = secured.address() as AddressInfo;
  const shown = async (servername: string): Promise<unknown> => {
    const socket = connectTls({ host: "127.0.0.1", port, servername, rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const { CN } = socket.getPeerCertificate().subject;
    socket.destroy();
    return CN;
  };
  expect(await shown("3000-sbx-1.sandboxes.test")).toBe("first-ports");
  expect(await shown("3000-SBX-1.SANDBOXES.test")).toBe("first-ports");
  for (const name of ["", "api.test", "sandboxes.test", "xsandboxes.test"])
    expect(await shown(name), name).toBe("api");
  use(second);
  await eventually(() => lines.join().includes("was renewed"), "the certificate is renewed");
  expect(await shown("3000-sbx-1.sandboxes.test")).toBe("second-ports");
  const none = { ...config, certificate: { ...certificate, keyFile: join(folder, "none") } };
  await expect(openSandboxCertificate(none, { everyMs: 20, log })).rejects.toThrow("SKERRY_SANDBOX_TLS_KEY");
  expect(
    await openSandboxCertificate({ ...config, certificate: undefined }, { everyMs: 20, log }),
  ).toBeUndefined();
});

test("a certificate that cannot be used keeps the server from starting, and says which setting it is", async () => {
  const { certFile, keyFile } = makePair("one");
  const listen = { host: "127.0.0.1", port: 0 };
  const empty = join(folder, "empty");
  writeFileSync(empty, "\n");
  const wrong = [
    [{ listen, certFile: empty, keyFile }, "SKERRY_TLS_CERT"],
    [{ listen, certFile, keyFile: empty }, "SKERRY_TLS_KEY"],
    [{ listen, certFile: join(folder, "none"), keyFile }, "SKERRY_TLS_CERT"],
    [{ listen, certFile, keyFile: join(folder, "none") }, "SKERRY_TLS_KEY"],
    [{ listen, certFile, keyFile: makePair("another").keyFile }, "its private key"],
  ] as const;
  for (const [tls, says] of wrong) {
    await expect(readKeyPair(tls)).rejects.toThrow(CertificateError);
    await expect(readKeyPair(tls)).rejects.toThrow(says);
  }
});
