// `skerry up` with a certificate: the same API over HTTPS, for the command line, for browsers and for machines that join, all of which trust an
// authority of the operator's own.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { freePort, nothingWaits, skerry, startPlatform, type Platform } from "./support/platform.ts";
import { run } from "./support/run.ts";
import { joinHost } from "./support/second-host.ts";

const execute = promisify(execFile);
const PAGE = "https://dashboard.example.org";

let folder: string;
let platform: Platform;
let url: string;
/** A user who trusts the authority, and has the operator's token. */
let trusting: Readonly<Record<string, string>>;

beforeAll(async () => {
  folder = await mkdtemp("/tmp/skerry-https-");
  await chmod(folder, 0o755);
  const files = await makeCertificates();
  const listen = `127.0.0.1:${await freePort()}`;
  url = `https://${listen}`;
  platform = await startPlatform({
    assets: inject("assets"),
    env: {
      ...nothingWaits,
      ...files,
      SKERRY_TLS_LISTEN: listen,
      SKERRY_CORS_ORIGINS: PAGE,
      SKERRY_VM_MEMORY_MIB: "2048",
    },
  });
  trusting = {
    NODE_EXTRA_CA_CERTS: join(folder, "ca.crt"),
    SKERRY_API_URL: url,
    SKERRY_API_TOKEN: platform.token,
  };
});
afterAll(async () => {
  await platform?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** An authority, and by it a certificate for 127.0.0.1 whose key only its owner and its group read. */
async function makeCertificates(): Promise<Readonly<Record<string, string>>> {
  const [ca, caKey, cert, key] = ["ca.crt", "ca.key", "api.crt", "api.key"].map((name) => join(folder, name));
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const openssl = (...args: readonly (string | undefined)[]) =>
    run("openssl", ...args.filter((arg) => arg !== undefined));
  await openssl("req", "-x509", "-days", "1", ...curve, "-keyout", caKey, "-out", ca, "-subj", "/CN=Our CA");
  const request = join(folder, "api.csr");
  await openssl("req", "-new", ...curve, "-keyout", key, "-out", request, "-subj", "/CN=skerry");
  await writeFile(join(folder, "names"), "subjectAltName=IP:127.0.0.1\n");
  const by = ["-CA", ca, "-CAkey", caKey, "-CAcreateserial", "-extfile", join(folder, "names")];
  await openssl("x509", "-req", "-days", "1", "-in", request, "-out", cert, ...by);
  await chmod(key ?? "", 0o644);
  return { SKERRY_TLS_CERT: cert ?? "", SKERRY_TLS_KEY: key ?? "" };
}

async function ask(path: string, headers: Readonly<Record<string, string>> = {}, method = "GET") {
  const ca = await readFile(join(folder, "ca.crt"));
  const asked = request(url + path, { method, headers, ca, agent: false });
  asked.end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
}

test("the command line works over HTTPS where it trusts the authority, and tells why where it does not", async () => {
  const { id } = JSON.parse(await skerry(trusting, "sandbox", "create", "--template", "base", "--json")) as {
    id: string;
  };
  expect(await skerry(trusting, "sandbox", "exec", id, "--", "echo", "over HTTPS")).toBe("over HTTPS\n");
  await skerry(trusting, "sandbox", "destroy", id);
  const { NODE_EXTRA_CA_CERTS: _ca, ...doubting } = trusting;
  await expect(skerry(doubting, "sandbox", "list")).rejects.toThrow(/certificate/);
});

test("health, documentation and pages of other origins are answered over HTTPS as they are without", async () => {
  const health = await ask("/v1/health");
  expect([health.status, health.body]).toEqual([200, '{"status":"healthy"}']);
  expect(health.headers["strict-transport-security"]).toContain("max-age=");
  const page = await ask("/docs");
  expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
  const preflight = { origin: PAGE, "access-control-request-method": "POST" };
  const allowed = await ask("/v1/sandboxes", preflight, "OPTIONS");
  expect(allowed.headers["access-control-allow-origin"]).toBe(PAGE);
});

test("a client that is installed over HTTPS works over HTTPS, where its user trusts the authority", async () => {
  expect((await ask("/install.sh")).body).toContain(`\napi='${url}'\n`);
  const user = { PATH: process.env["PATH"], HOME: folder, CURL_CA_BUNDLE: join(folder, "ca.crt") };
  const env = { ...user, ...trusting, PREFIX: join(folder, "user") };
  const installed = await execute("sh", ["-c", `curl -fsSL ${url}/install.sh | sh`], { env });
  expect(installed.stdout).toContain("skerry login");
  const listed = await execute(join(folder, "user/bin/skerry"), ["template", "list"], { env });
  expect(listed.stdout).toMatch(/^base +- +ready/m);
});

test("what runs on the machine needs no certificate, and `skerry status` tells that all is well", async () => {
  expect(platform.apiUrl).toMatch(/^http:/);
  expect(await skerry(platform.env, "status")).toMatch(/control +running +http:/);
  expect(await skerry(platform.env, "host", "list")).toContain("online");
});

test("a machine joins over HTTPS where it trusts the authority, and says why it does not where it does not", async () => {
  await expect(joinHost({ apiUrl: url, env: platform.env })).rejects.toThrow(
    /control_unreachable|certificate/,
  );
  const { NODE_EXTRA_CA_CERTS } = trusting;
  const host = await joinHost(
    { apiUrl: url, env: platform.env },
    { env: { NODE_EXTRA_CA_CERTS: NODE_EXTRA_CA_CERTS ?? "" } },
  );
  try {
    expect((await platform.client.hosts.get(host.id)).status).toBe("online");
  } finally {
    await host.stop();
    await platform.client.hosts.remove(host.id, { force: true });
  }
});
