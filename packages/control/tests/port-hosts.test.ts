// Ports by names of their own: what such a name leads to, what it never leads to, and what an app may say at an origin that is its own.

import { once } from "node:events";
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { beforeAll, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import type { SignedUrl } from "@skerry/contract/vms/signed-urls";
import { buildServer, type Server } from "../src/app/server.ts";
import { GuestPorts } from "./support/guest-port.ts";
import { send } from "./support/raw-requests.ts";
import { useWorld } from "./support/world.ts";

const DOMAIN = "sandboxes.test";

const world = useWorld();
const guest = new GuestPorts(world);
let server: Server;
let listensOn: number;

beforeAll(async () => {
  const context = world.contextWith({ sandboxDomain: DOMAIN });
  server = await buildServer(context, { trustedProxies: ["127.0.0.1"], corsOrigins: ["https://app.test"] });
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  listensOn = (server.app.server.address() as AddressInfo).port;
  world.after(() => server.stop(0));
});

const nameOf = (port: number, id = guest.id) => `${port}-${id.replace("_", "-")}.${DOMAIN}`;

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

async function ask(
  host: string,
  path = "/",
  { method = "GET", ...headers }: OutgoingHttpHeaders & { method?: string } = {},
): Promise<Answer> {
  const sent = httpRequest({
    host: "127.0.0.1",
    port: listensOn,
    path,
    method,
    headers: { host, ...headers },
  });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
}

const withToken = () => ({ authorization: `Bearer ${world.token}` });
const codeOf = ({ body }: Answer) => (JSON.parse(body) as { code: string }).code;

/** Says what it was asked. */
const telling = () =>
  guest.serve((request, response) => {
    response.end(JSON.stringify({ url: request.url, headers: request.headers }));
  });

async function signatureFor(port: number, expiresIn = "1h"): Promise<string> {
  const { body } = await world.call<SignedUrl>("POST", `/v1/sandboxes/${guest.id}/urls`, {
    body: { port, expires_in: expiresIn },
  });
  return new URL(body.url).searchParams.get("_skerry") ?? "";
}

test("the name of a port leads to it, with a token, a signature, or because it is public", async () => {
  const port = await telling();
  const refused = await ask(nameOf(port));
  expect([refused.status, codeOf(refused)]).toEqual([401, "unauthorized"]);
  const { status, body } = await ask(nameOf(port), "/a%2Fb?x=1", withToken());
  expect(status).toBe(200);
  const seen = JSON.parse(body) as { url: string; headers: Record<string, string> };
  expect(seen.url).toBe("/a%2Fb?x=1");
  expect(seen.headers).toMatchObject({ host: `localhost:${port}`, "x-forwarded-host": nameOf(port) });
  expect(seen.headers["x-forwarded-prefix"]).toBeUndefined();
  expect(seen.headers["authorization"]).toBeUndefined();
  const signed = await ask(nameOf(port), `/?a=1&_skerry=${await signatureFor(port)}`);
  expect([signed.status, (JSON.parse(signed.body) as { url: string }).url]).toEqual([200, "/?a=1"]);
  expect(codeOf(await ask(nameOf(port), "/?_skerry=1795392000.abc"))).toBe("invalid_signature");
  await world.call("PATCH", guest.path(port, ""), { body: { public: true } });
  expect((await ask(nameOf(port))).status).toBe(200);
});

test("whose sandbox it is decides as everywhere, and a machine has names, too", async () => {
  const port = await telling();
  const stranger = { authorization: `Bearer ${await world.strangerToken()}` };
  expect(codeOf(await ask(nameOf(port), "/", stranger))).toBe("sandbox_not_found");
  const unknown = guest.id.replace(/.{4}$/, "0000");
  expect(codeOf(await ask(nameOf(port, unknown), "/", withToken()))).toBe("sandbox_not_found");
  const { id } = await world.createMachine();
  expect((await ask(nameOf(port, id), "/", withToken())).status).toBe(200);
});

test("a WebSocket is led there, too", async () => {
  const sockets = new WebSocketServer({ noServer: true });
  sockets.on("connection", (socket) => socket.on("message", (data: Buffer) => socket.send(data)));
  const port = await guest.serve((_request, response) => response.end());
  const { host } = new URL(`http://${nameOf(port)}`);
  const lines = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;
  // Nothing answers an upgrade there, and the API's own WebSockets are not in its place.
  const [refused] = await send(server, lines);
  expect(refused?.status).toBe(401);
  const socket = new WebSocket(`ws://127.0.0.1:${listensOn}/v1/sandboxes/${guest.id}/exec`, {
    headers: { host, ...withToken() },
  });
  socket.on("error", () => undefined);
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
  expect(response.statusCode).toBe(200);
  sockets.close();
});

test("an app at its own origin says what it likes of that origin, and nothing of others", async () => {
  const port = await guest.serve((_request, response) => {
    response.writeHead(200, [
      ...["Set-Cookie", "session=1; Path=/; HttpOnly"],
      ...["Set-Cookie", "wide=1; Domain=sandboxes.test"],
      ...["Set-Cookie", "wider=1; path=/;  DOMAIN = test"],
      ...["Set-Cookie", "__Host-skerry-visit=forged; Secure; Path=/"],
      ...["Content-Security-Policy", "default-src 'self'"],
      ...["Access-Control-Allow-Origin", "https://other.test"],
      ...["Service-Worker-Allowed", "/"],
      ...["Clear-Site-Data", '"cookies"'],
      ...["Strict-Transport-Security", "max-age=1; includeSubDomains"],
      ...["Alt-Svc", 'h3="evil.test:443"'],
      ...["WWW-Authenticate", "Basic"],
      ...["X-Request-Id", "forged"],
      ...["RateLimit", "forged"],
    ]);
    response.end("app");
  });
  const script = { "sec-fetch-site": "same-origin", "sec-fetch-dest": "script" };
  const asked = { ...withToken(), ...script, "service-worker": "script" };
  const { headers, body } = await ask(nameOf(port), "/", asked);
  expect([body, headers["set-cookie"]]).toEqual(["app", ["session=1; Path=/; HttpOnly"]]);
  expect(headers["content-security-policy"]).toBe("default-src 'self'");
  expect(headers["access-control-allow-origin"]).toBe("https://other.test");
  expect(headers["service-worker-allowed"]).toBe("/");
  for (const name of ["clear-site-data", "strict-transport-security", "alt-svc"])
    expect(headers[name], name).toBeUndefined();
  expect([headers["x-request-id"], headers["ratelimit"]]).not.toContain("forged");
  const plain = await ask(nameOf(await telling()), "/", withToken());
  for (const name of ["content-security-policy", "cross-origin-resource-policy", "referrer-policy"])
    expect(plain.headers[name], name).toBeUndefined();
});

test("cookies of the app reach it, and credentials do not", async () => {
  const port = await telling();
  const { body } = await ask(nameOf(port), "/", {
    "x-api-key": world.token,
    "x-org-id": world.orgId,
    cookie: "session=1; __Host-skerry-visit=secret-visit; theme=dark",
    "x-forwarded-for": "192.0.2.1",
  });
  const { headers } = JSON.parse(body) as { headers: Record<string, string> };
  expect(headers["cookie"]).toBe("session=1; theme=dark");
  for (const secret of [world.token, world.orgId, "secret-visit"]) expect(body).not.toContain(secret);
});

test("a signature in the address of a page reaches neither the guest nor other sites by the page's requests", async () => {
  const port = await guest.serve(({ headers }, response) => {
    response.writeHead(200, { "referrer-policy": "unsafe-url" });
    response.end(JSON.stringify(headers));
  });
  const signature = await signatureFor(port);
  const page = await ask(nameOf(port), `/page?a=1&_skerry=${signature}`);
  expect(page.headers["referrer-policy"]).toBe("no-referrer");
  // As a browser would say it that was told otherwise, in the page.
  const referer = `http://${nameOf(port)}/page?a=1&_skerry=${signature}&b=2`;
  for (const host of [nameOf(port), "api.test"]) {
    const path = host === "api.test" ? guest.path(port, "/script.js") : "/script.js";
    const { body } = await ask(host, path, { ...withToken(), referer });
    expect(body).not.toContain(signature);
    expect(JSON.parse(body)).toMatchObject({ referer: expect.stringMatching(/^http:.*\/page\?a=1&b=2$/) });
  }
  const { headers } = await ask(nameOf(port), "/page", withToken());
  expect(headers["referrer-policy"]).toBe("unsafe-url");
});

test("pages that may call the API get no rights at ports by that", async () => {
  const port = await telling();
  const { headers } = await ask(nameOf(port), "/", { ...withToken(), origin: "https://app.test" });
  expect(headers["access-control-allow-origin"]).toBeUndefined();
  const api = await ask("api.test", "/v1/sizes", { ...withToken(), origin: "https://app.test" });
  expect(api.headers["access-control-allow-origin"]).toBe("https://app.test");
});

const page = { "x-forwarded-proto": "https", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };

test("a signed page leaves its signature as a cookie, which opens the rest of it", async () => {
  const port = await telling();
  const signature = await signatureFor(port);
  const first = await ask(nameOf(port), `//evil.test/a?b=1&_skerry=${signature}`, page);
  expect([first.status, first.headers.location]).toEqual([303, `https://${nameOf(port)}//evil.test/a?b=1`]);
  const [cookie = ""] = first.headers["set-cookie"] ?? [];
  expect(cookie).toMatch(
    /^__Host-skerry-visit=\d+\.[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=3[56]\d\d$/,
  );
  const visit = { cookie: cookie.split(";")[0], "x-forwarded-proto": "https" };
  const from = (site: string, more: OutgoingHttpHeaders = {}) =>
    ask(nameOf(port), "/style.css", { ...visit, "sec-fetch-site": site, ...more });
  expect((await from("same-origin")).status).toBe(200);
  expect((await from("none")).status).toBe(200);
  expect((await from("cross-site", page)).status).toBe(200);
  // All ports are one site, so a page of another one can have a browser send the cookie.
  for (const [site, more] of [
    ["same-site", {}],
    ["cross-site", {}],
    ["same-site", { ...page, method: "POST" }],
    ["same-site", { ...page, "sec-fetch-dest": "iframe" }],
  ] as const)
    expect((await from(site, more)).status, JSON.stringify([site, more])).toBe(401);
  const socket = { ...visit, origin: `https://${nameOf(port)}` };
  expect((await ask(nameOf(port), "/", socket)).status).toBe(200);
  expect((await ask(nameOf(port), "/", { ...socket, origin: `https://${nameOf(1)}` })).status).toBe(401);
  const other = await telling();
  expect((await ask(nameOf(other), "/", { ...visit, "sec-fetch-site": "none" })).status).toBe(401);
  expect((await ask("api.test", guest.path(port), { ...visit, "sec-fetch-site": "none" })).status).toBe(401);
  const forged = { cookie: "__Host-skerry-visit=1795392000.x", "sec-fetch-site": "none" };
  expect((await ask(nameOf(port), "/", forged)).status).toBe(401);
  expect((await ask(nameOf(port), "/", { ...forged, ...withToken() })).status).toBe(200);
});

test("the URLs that are signed have the name, with the port by which the API was asked", async () => {
  const sign = async (host: string, more: OutgoingHttpHeaders = {}) => {
    const asked = httpRequest({
      ...{ host: "127.0.0.1", port: listensOn, method: "POST", path: `/v1/sandboxes/${guest.id}/urls` },
      headers: { host, ...withToken(), "content-type": "application/json", ...more },
    });
    asked.end('{"port": 3000}');
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    return (JSON.parse(await text(response)) as SignedUrl).url;
  };
  expect(await sign("api.test:7070")).toMatch(`http://${nameOf(3000)}:7070/?_skerry=`);
  expect(await sign("api.test", { "x-forwarded-proto": "https" })).toMatch(
    `https://${nameOf(3000)}/?_skerry=`,
  );
});

test("a name in capitals, with a port, a dot at its end or an underscore is the same name", async () => {
  const port = await telling();
  for (const host of [
    nameOf(port).toUpperCase(),
    `${nameOf(port)}:7443`,
    `${nameOf(port)}.`,
    `${nameOf(port)}.:7443`,
    `${port}-${guest.id}.${DOMAIN}`,
  ])
    expect((await ask(host, "/", withToken())).status, host).toBe(200);
});

test("below the domain nothing of the API is reached, and beside it nothing else changes", async () => {
  const port = await telling();
  const value = guest.id.slice("sbx_".length);
  for (const host of [
    DOMAIN,
    `${DOMAIN}:7070`,
    `api2.${DOMAIN}`,
    `0-sbx-${value}.${DOMAIN}`,
    `0${port}-sbx-${value}.${DOMAIN}`,
    `65536-sbx-${value}.${DOMAIN}`,
    `${port}-org-${value}.${DOMAIN}`,
    `${port}-sbx-${value}x.${DOMAIN}`,
    `${port}-sbx-${value}..${DOMAIN}`,
    `a.${nameOf(port)}`,
    `${nameOf(port)}@.${DOMAIN}`,
  ]) {
    for (const path of ["/", "/v1/health", `/v1/sandboxes/${guest.id}`, "/install.sh"]) {
      const answer = await ask(host, path, withToken());
      expect([host, path, answer.status, codeOf(answer)]).toEqual([host, path, 404, "not_found"]);
    }
  }
  for (const host of [`${nameOf(port)}.evil.test`, `x${DOMAIN}`, `${nameOf(port)}x`, "", "[::1]:7070"]) {
    const answer = await ask(host, "/v1/health");
    expect([host, answer.status]).toEqual([host, 200]);
  }
});

test("no path and no second host leads from the name of a port to the API", async () => {
  const port = await telling();
  const get = async (line: string, ...fields: readonly string[]) => {
    const token = `Authorization: Bearer ${world.token}`;
    const head = [`GET ${line} HTTP/1.1`, ...fields, token, "Connection: close", "", ""].join("\r\n");
    return (await send(server, head))[0];
  };
  const host = `Host: ${nameOf(port)}`;
  for (const path of [
    "/v1/health",
    "/../../../../health",
    "/..%2f..%2fhealth",
    "//v1/health",
    "/%2e%2e/health",
  ]) {
    const answer = await get(path, host);
    expect([answer?.status, (JSON.parse(answer?.body ?? "{}") as { url?: string }).url]).toEqual([200, path]);
  }
  expect((await get("/v1/health", host, "Host: api.test"))?.status).toBe(400);
  expect((await get("/v1/health", "Host: api.test", host))?.status).toBe(400);
  const absolute = await get("http://api.test/v1/health", host);
  expect((JSON.parse(absolute?.body ?? "{}") as { url?: string }).url).toBe("/v1/health");
  const [star] = await send(server, `OPTIONS * HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`);
  expect(star?.status).toBe(404);
});

test("where a proxy, or a client, says two hosts and one is below the domain, neither the API nor a port is shown", async () => {
  const port = await telling();
  const name = nameOf(port);
  for (const [host, forwarded] of [
    ["api.test", name],
    ["127.0.0.1:7070", name],
    ["api.test", DOMAIN],
    ["api.test", `api.test, ${name.toUpperCase()}.:443`],
    [name, "api.test"],
    [name, `${name}, api.test`],
    [name, nameOf(port + 1)],
    [name, ""],
  ] as const)
    for (const path of ["/v1/health", "/", guest.path(port)]) {
      const answer = await ask(host, path, { ...withToken(), "x-forwarded-host": forwarded });
      expect([answer.status, codeOf(answer)], `${host} ${forwarded} ${path}`).toEqual([404, "not_found"]);
    }
  expect((await ask(name, "/", { ...withToken(), "x-forwarded-host": `${name}:443` })).status).toBe(200);
  const api = await ask("127.0.0.1", "/v1/health", { "x-forwarded-host": "api.test" });
  expect(JSON.parse(api.body)).toEqual({ status: "healthy" });
});
