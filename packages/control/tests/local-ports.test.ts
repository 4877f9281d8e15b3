// Ports below `localhost`, where control listens on this machine alone: an app has an origin of its own
// without any setting.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import type { SignedUrl } from "@skerry/contract/vms/signed-urls";
import { buildServer } from "../src/app/server.ts";
import { GuestPorts } from "./support/guest-port.ts";
import { useWorld } from "./support/world.ts";

const CHROMIUM = "/usr/bin/chromium";
const BROWSER_WITHIN_MS = 60_000;

const world = useWorld();
const guest = new GuestPorts(world);
let listensOn: number;

beforeAll(async () => {
  const server = await buildServer(world.contextWith({ hasLocalPorts: true }), {
    trustedProxies: ["127.0.0.1"],
    corsOrigins: [],
  });
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  listensOn = (server.app.server.address() as AddressInfo).port;
  world.after(() => server.stop(0));
});

const nameOf = (port: number) => `${port}-${guest.id.replace("_", "-")}.localhost:${listensOn}`;

async function ask(
  host: string,
  path: string,
  { method = "GET", body, ...headers }: Record<string, string> = {},
): Promise<{ readonly status: number; readonly headers: IncomingMessage["headers"]; readonly body: string }> {
  const sent = httpRequest({
    ...{ host: "127.0.0.1", port: listensOn, path, method },
    headers: { host, ...(body !== undefined && { "content-type": "application/json" }), ...headers },
  });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
}

const withToken = () => ({ authorization: `Bearer ${world.token}` });

async function signedUrl(host: string, port: number): Promise<URL> {
  const { body } = await ask(host, `/v1/sandboxes/${guest.id}/urls`, {
    ...{ method: "POST", body: JSON.stringify({ port }) },
    ...withToken(),
  });
  return new URL((JSON.parse(body) as SignedUrl).url);
}

test("the name of a port below localhost leads to it, with what every way to a port needs", async () => {
  const port = await guest.serve((request, response) => response.end(request.url));
  expect((await ask(nameOf(port), "/a?x=1")).status).toBe(401);
  const { status, body } = await ask(nameOf(port), "/a?x=1", withToken());
  expect([status, body]).toEqual([200, "/a?x=1"]);
  const stranger = { authorization: `Bearer ${await world.strangerToken()}` };
  expect((await ask(nameOf(port), "/", stranger)).status).toBe(404);
});

test("localhost itself, and every other name below it, is the API's", async () => {
  for (const host of ["localhost", "skerry.localhost", "api.localhost", "3000-web.localhost"])
    expect((await ask(`${host}:${listensOn}`, "/v1/health")).status, host).toBe(200);
});

test("below the name of a port nothing is served", async () => {
  const port = await guest.serve((_request, response) => response.end("guest"));
  const { status, body } = await ask(`a.${nameOf(port)}`, "/v1/health", withToken());
  expect([status, (JSON.parse(body) as { code: string }).code]).toEqual([404, "not_found"]);
});

test("where two names differ, neither the API nor the port is shown", async () => {
  const port = await guest.serve((_request, response) => response.end("guest"));
  const name = nameOf(port);
  for (const [host, forwarded] of [
    [name, `localhost:${listensOn}`],
    [`127.0.0.1:${listensOn}`, name],
  ] as const) {
    const { status, body } = await ask(host, "/v1/health", { "x-forwarded-host": forwarded, ...withToken() });
    expect([status, (JSON.parse(body) as { code: string }).code]).toEqual([404, "not_found"]);
  }
});

test("a browser on this machine is led from the API's address to the name, and nothing else is", async () => {
  const port = await guest.serve((_request, response) => response.end("guest"));
  const url = await signedUrl(`127.0.0.1:${listensOn}`, port);
  const path = `${url.pathname}a//b${url.search}&x=1`;
  const page = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  for (const host of [`127.0.0.1:${listensOn}`, `localhost:${listensOn}`, `[::1]:${listensOn}`]) {
    const { status, headers } = await ask(host, path, page);
    expect([status, headers.location]).toEqual([303, `http://${nameOf(port)}/a//b${url.search}&x=1`]);
  }
  // A page in a frame, whose cookie of a visit would not be sent, and HTTPS, which a proxy here has ended.
  const framed = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" };
  expect((await ask(`localhost:${listensOn}`, path, framed)).body).toBe("guest");
  const secured = { ...page, "x-forwarded-proto": "https", cookie: "skerry-port-as-it-is=1" };
  expect((await ask(`localhost:${listensOn}`, path, secured)).body).toBe("guest");
  // A program, a browser elsewhere, and one that nobody has let in.
  expect((await ask(`127.0.0.1:${listensOn}`, path)).body).toBe("guest");
  expect((await ask("skerry.example.org", path, page)).body).toContain("SKERRY_SANDBOX_DOMAIN");
  expect((await ask(`127.0.0.1:${listensOn}`, url.pathname, page)).status).toBe(401);
});

/** An app of several files, which then tries whatever would reach beyond its own origin. */
const PAGE = `<!doctype html><title>app</title><pre id="told"></pre><script src="/app.js"></script>`;
const SCRIPT = `
const api = "http://localhost:" + location.port;
const attempts = {
  storage: () => { localStorage.setItem("a", "b"); return localStorage.getItem("a"); },
  planted: () => { document.cookie = "evil=1; Domain=localhost; Path=/"; return document.cookie; },
  health: () => fetch(api + "/v1/health").then((answer) => answer.text()),
  signedIn: () => fetch(api + "/v1/auth/me", { credentials: "include" }).then((answer) => answer.text()),
  itself: () => fetch("/data.txt").then((answer) => answer.text()),
};
(async () => {
  const told = { origin: self.origin };
  for (const [name, attempt] of Object.entries(attempts)) {
    try { told[name] = "came through: " + await attempt(); }
    catch (error) { told[name] = "refused: " + error.name; }
  }
  document.getElementById("told").textContent = JSON.stringify(told);
})();`;

test.skipIf(!existsSync(CHROMIUM))(
  "in a browser an app loads its own scripts by one signed URL, and its pages reach neither the API nor its cookies",
  async () => {
    const asked: string[] = [];
    const port = await guest.serve((request, response) => {
      asked.push(`${request.url} ${request.headers.cookie ?? ""}`);
      if (request.url === "/app.js")
        response.writeHead(200, { "content-type": "text/javascript" }).end(SCRIPT);
      else if (request.url === "/data.txt") response.end("data");
      else response.writeHead(200, { "content-type": "text/html" }).end(PAGE);
    });
    const url = await signedUrl(`127.0.0.1:${listensOn}`, port);
    const profile = mkdtempSync(join(tmpdir(), "skerry-browser-"));
    try {
      const { stdout } = await promisify(execFile)(
        CHROMIUM,
        [
          ...["--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${profile}`],
          ...["--virtual-time-budget=10000", "--dump-dom", url.href],
        ],
        { timeout: BROWSER_WITHIN_MS },
      );
      const [, told = "{}"] = /<pre id="told">(.*?)<\/pre>/.exec(stdout) ?? [];
      expect(JSON.parse(told.replaceAll("&quot;", '"')), stdout).toEqual({
        origin: `http://${nameOf(port)}`,
        storage: "came through: b",
        planted: "came through: ",
        health: "refused: TypeError",
        signedIn: "refused: TypeError",
        itself: "came through: data",
      });
      // The cookie that let the browser in is none of the app's.
      expect(asked.filter((line) => !line.startsWith("/favicon"))).toEqual(["/ ", "/app.js ", "/data.txt "]);
    } finally {
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    }
  },
  2 * BROWSER_WITHIN_MS,
);
