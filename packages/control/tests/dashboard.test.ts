// How the dashboard's files are served. Here they are small; the build makes the real ones.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readConfig } from "../src/app/config.ts";
import { buildServer, type Server } from "../src/app/server.ts";
import { readDashboardFiles } from "../src/web/dashboard-files.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const PAGE = "<!doctype html><title>Skerry</title>";
const SCRIPT = `console.log("${"dashboard ".repeat(50)}");`;
let folder: string;
let url: string;
let server: Server;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "skerry-dashboard-"));
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), PAGE);
  writeFileSync(join(folder, "assets/main-ABCD1234.js"), SCRIPT);
  writeFileSync(join(folder, "assets/main-ABCD1234.js.br"), brotliCompressSync(SCRIPT));
  writeFileSync(join(folder, "assets/main-ABCD1234.js.gz"), gzipSync(SCRIPT));
  writeFileSync(join(folder, "assets/icons-ABCD1234.svg"), "<svg/>");
  server = await buildServer(world.contextWith({ dashboard: readDashboardFiles(folder) }));
  url = await listening(server);
});
afterAll(async () => {
  await server.stop(0);
  rmSync(folder, { recursive: true, force: true });
});

async function listening({ app }: Server): Promise<string> {
  await app.listen({ host: "127.0.0.1", port: 0 });
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}

interface Got {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly content: Buffer;
}

/** Byte for byte: `fetch` would decompress, and follow redirects. */
async function got(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Got> {
  const request = get(url + path, { method, headers });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  return { status: response.statusCode ?? 0, headers: response.headers, content: Buffer.concat(pieces) };
}

test("a browser is sent to the dashboard, a program is told where it is", async () => {
  const sent = await got("/", { accept: "text/html,*/*" });
  expect([sent.status, sent.headers.location, sent.headers.vary]).toEqual([303, "ui/", "Accept"]);
  const told = await got("/", { accept: "application/json" });
  expect(JSON.parse(told.content.toString())).toMatchObject({ dashboard: "ui/", docs: "docs" });
  const short = await got("/ui");
  expect([short.status, short.headers.location]).toEqual([303, "ui/"]);
});

test("every address of the dashboard is its page, which may load and reach nothing but this server", async () => {
  for (const path of ["/ui/", "/ui/sandboxes", "/ui/sandboxes/sbx_1/terminal?x=1"]) {
    const { status, headers, content } = await got(path);
    expect([status, content.toString()], path).toEqual([200, PAGE]);
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "content-security-policy":
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
      "cross-origin-opener-policy": "same-origin",
      "permissions-policy": expect.stringContaining("camera=()"),
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
    expect(headers["set-cookie"]).toBeUndefined();
    const again = await got(path, { "if-none-match": headers.etag ?? "" });
    expect([again.status, again.content.length]).toEqual([304, 0]);
    const other = await got(path, { "if-none-match": '"another"' });
    expect(other.status).toBe(200);
    const head = await got(path, {}, "HEAD");
    expect([head.status, head.headers.etag, head.content.length]).toEqual([200, headers.etag, 0]);
  }
});

test("a page of its own learns whether the browser has a session, another page does not", async () => {
  const cookie = "a=b; __Host-skerry=secret";
  const own = { "sec-fetch-site": "same-origin" };
  for (const [headers, answer] of [
    [{ ...own, cookie }, "true"],
    [own, "false"],
    [{ ...own, cookie: "a=b" }, "false"],
    [{ cookie }, "false"],
    [{ cookie, "sec-fetch-site": "cross-site" }, "false"],
  ] as const) {
    const { status, headers: answered, content } = await got("/ui/session", headers);
    expect([status, answered["cache-control"], content.toString()]).toEqual([200, "no-store", answer]);
  }
});

test("a file comes compressed as the client takes it, and is kept for a year", async () => {
  const path = "/ui/assets/main-ABCD1234.js";
  const asIs = (content: Buffer): Buffer => content;
  const cases = [
    ["gzip, deflate, br", "br", brotliDecompressSync],
    ["gzip, br;q=0", "gzip", gunzipSync],
    ["gzip", "gzip", gunzipSync],
    ["identity", undefined, asIs],
    ["", undefined, asIs],
  ] as const;
  for (const [accept, encoding, decoded] of cases) {
    const { status, headers, content } = await got(path, { "accept-encoding": accept });
    expect([status, headers["content-encoding"]], accept).toEqual([200, encoding]);
    expect(decoded(content).toString()).toBe(SCRIPT);
    expect(headers).toMatchObject({
      "cache-control": "public, max-age=31536000, immutable",
      "content-type": "text/javascript; charset=utf-8",
      "x-content-type-options": "nosniff",
      vary: "Accept-Encoding",
    });
  }
  const icons = await got("/ui/assets/icons-ABCD1234.svg", { "accept-encoding": "br, gzip" });
  expect([icons.status, icons.headers["content-encoding"], icons.headers["content-type"]]).toEqual([
    200,
    undefined,
    "image/svg+xml",
  ]);
});

test("what is no file of the dashboard is never the page, and nothing beside it is reached", async () => {
  for (const path of [
    "/ui/assets/main-GONE1234.js",
    "/ui/assets/main-ABCD1234.js.br",
    "/ui/assets/",
    "/ui/assets/a/b.js",
    "/ui/assets/..%2findex.html",
    "/ui/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "/ui/assets/__proto__",
  ]) {
    const { status, content } = await got(path);
    expect([status, JSON.parse(content.toString()).code], path).toEqual([404, "not_found"]);
  }
});

test("too many requests for it from one address are refused", async () => {
  const limits = { ...world.context.limits, visitorsPerMinute: 4 };
  const limited = await buildServer(world.contextWith({ limits, dashboard: readDashboardFiles(folder) }));
  const at = await listening(limited);
  const states = [];
  for (let nth = 0; nth < 3; nth += 1) states.push((await fetch(`${at}/ui/`)).status);
  await limited.stop(0);
  expect(states).toEqual([200, 200, 429]);
});

test("without the files, and turned off, there is no dashboard, and the API is as it was", async () => {
  for (const path of ["/ui", "/ui/", "/ui/assets/main-ABCD1234.js"]) {
    const answer = await world.call("GET", path, { token: "" });
    expect([answer.status, answer.body["code"]]).toEqual([404, "not_found"]);
    expect(answer.body["remediation"]).toContain("SKERRY_DASHBOARD");
  }
  const root = await fetch(`${world.url}/`, { headers: { accept: "text/html" }, redirect: "manual" });
  expect([root.status, root.headers.get("location")]).toEqual([302, "docs"]);
  expect(readDashboardFiles(join(folder, "nowhere"))).toBeUndefined();
  expect(readDashboardFiles(undefined)).toBeUndefined();
  const read = (environment: Record<string, string>) =>
    readConfig({ SKERRY_DATABASE_URL: "postgresql:///skerry", ...environment });
  expect([read({}).dashboard, read({ SKERRY_DASHBOARD: "off" }).dashboard]).toEqual([true, false]);
  expect(() => read({ SKERRY_DASHBOARD: "no" })).toThrow("SKERRY_DASHBOARD");
});

test("the document of the API does not have it", async () => {
  const { paths } = server.app.swagger() as unknown as { readonly paths: Readonly<Record<string, unknown>> };
  expect(Object.keys(paths).filter((path) => path.startsWith("/ui"))).toEqual([]);
  expect(Object.keys(paths)).toContain("/v1/auth/sessions");
});
