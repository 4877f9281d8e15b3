// Notice in the place of a guest's page, for a browser to which the port has no origin of its own.

import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { buildServer } from "../src/app/server.ts";
import { GuestPorts } from "./support/guest-port.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const guest = new GuestPorts(world);

/**
 * Fields of a browser's visit. Over HTTP, and elsewhere than on its own machine, it sends no `Sec-Fetch-…`.
 */
const visits = [
  { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" },
  { "upgrade-insecure-requests": "1", accept: "text/html,application/xhtml+xml,*/*;q=0.8" },
] as const;

interface Seen {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

async function ask(
  path: string,
  headers: Readonly<Record<string, string>>,
  { method = "GET", server = world.url } = {},
): Promise<Seen> {
  const authorization = `Bearer ${world.token}`;
  const sent = httpRequest(server + path, { method, headers: { authorization, ...headers } }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
}

test("a visit is told which settings are missing and which command shows the app, and the guest hears nothing", async () => {
  const asked: string[] = [];
  const port = await guest.serve((request, response) => {
    asked.push(request.url ?? "");
    response.end("guest");
  });
  for (const headers of visits) {
    const page = await ask(guest.path(port, '/a?b="><i>'.replaceAll('"', "%22")), headers);
    expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    const told = ["SKERRY_SANDBOX_DOMAIN", "SKERRY_SANDBOX_TLS_CERT", `forward ${guest.id} ${port}`];
    for (const words of told) expect(page.body).toContain(words);
    expect(page.body).not.toContain("<i>");
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(page.headers["cache-control"]).toBe("no-store");
  }
  expect(asked).toEqual([]);
  const stranger = { authorization: `Bearer ${await world.strangerToken()}` };
  expect((await ask(guest.path(port), { ...visits[0], authorization: "" })).status).toBe(401);
  expect((await ask(guest.path(port), { ...visits[0], ...stranger })).body).not.toContain("guest");
});

test("the link of the notice shows this port as it is from then on, with its query and without a word to the guest", async () => {
  const asked: string[] = [];
  const port = await guest.serve((request, response) => {
    asked.push(`${request.url} ${request.headers.cookie ?? ""}`);
    response.end("guest");
  });
  const { body } = await ask(guest.path(port, "/a?x=1"), visits[0]);
  const link = /href="([^"]+)"/.exec(body)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const led = await ask(link, visits[0]);
  expect([led.status, led.headers.location]).toEqual([303, guest.path(port, "/a?x=1")]);
  const [cookie = ""] = led.headers["set-cookie"] ?? [];
  expect(cookie).toContain(`; Path=${guest.path(port, "")}; HttpOnly; SameSite=Lax`);
  const seen = { ...visits[0], cookie: cookie.split(";")[0] ?? "" };
  expect((await ask(guest.path(port, "/a?x=1"), seen)).body).toBe("guest");
  expect(asked).toEqual(["/a?x=1 "]);
});

test("programs, parts of a page, and a server with a domain for ports get the guest's own answer", async () => {
  const port = await guest.serve((_request, response) => response.end("guest"));
  const others = [
    {},
    { accept: "text/html" },
    { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
    { "sec-fetch-mode": "cors", "sec-fetch-dest": "empty", "upgrade-insecure-requests": "1" },
  ];
  for (const headers of others) expect((await ask(guest.path(port), headers)).body).toBe("guest");
  expect((await ask(guest.path(port), visits[0], { method: "POST" })).body).toBe("guest");
  const withDomain = world.contextWith({ sandboxDomain: "sandboxes.example.net" });
  const other = await buildServer(withDomain, { trustedProxies: [], corsOrigins: [] });
  world.after(() => other.stop(0));
  const server = await other.app.listen({ host: "127.0.0.1", port: 0 });
  expect((await ask(guest.path(port), visits[0], { server })).body).toBe("guest");
});
