// Attacks on the API, and on the session of its dashboard, from a guest's page at a name below `localhost`.

import { once } from "node:events";
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { beforeAll, expect, test } from "vitest";
import { buildServer } from "../src/app/server.ts";
import { GuestPorts } from "./support/guest-port.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const guest = new GuestPorts(world);
let listensOn: number;

beforeAll(async () => {
  const context = world.contextWith({ hasLocalPorts: true });
  const server = await buildServer(context, {});
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  listensOn = (server.app.server.address() as AddressInfo).port;
  world.after(() => server.stop(0));
});

const nameOf = (port: number) => `${port}-${guest.id.replace("_", "-")}.localhost:${listensOn}`;

interface Asked {
  readonly method: string;
  readonly body?: object;
}

async function ask(
  host: string,
  path = "/",
  headers: OutgoingHttpHeaders = {},
  { method, body }: Asked = { method: "GET" },
) {
  const sent = httpRequest({
    ...{ host: "127.0.0.1", port: listensOn, path, method },
    headers: { host, ...(body !== undefined && { "content-type": "application/json" }), ...headers },
  });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
}

const withToken = () => ({ authorization: `Bearer ${world.token}` });
const app = () =>
  guest.serve(({ headers }, response) => {
    response.end(JSON.stringify(headers));
  });

const login = () => ({ method: "POST", body: { token: world.token } });

/** The cookie of a new session of the dashboard. */
async function sessionCookie(): Promise<string> {
  const { headers } = await ask(
    `localhost:${listensOn}`,
    "/v1/auth/sessions",
    { "sec-fetch-site": "same-origin" },
    login(),
  );
  return headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
}

test("a guest's page below localhost neither acts by the dashboard's session nor logs a person in", async () => {
  const attacker = { origin: `http://${nameOf(await app())}` };
  const cookie = await sessionCookie();
  for (const host of [`localhost:${listensOn}`, `127.0.0.1:${listensOn}`]) {
    expect((await ask(host, "/v1/auth/me", { cookie, "sec-fetch-site": "same-origin" })).status).toBe(200);
    // Browsers differ in whether two names below localhost are one site, and older ones say nothing of it.
    const sites: OutgoingHttpHeaders[] = [
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "cross-site" },
      {},
    ];
    for (const site of sites) {
      const asked = { ...attacker, ...site };
      const read = await ask(host, "/v1/auth/me", { cookie, ...asked });
      expect([read.status, read.headers["access-control-allow-origin"]]).toEqual([401, undefined]);
      expect((await ask(host, "/v1/auth/sessions", asked, login())).status).toBe(403);
      const made = { method: "POST", body: { template: "base" } };
      expect((await ask(host, "/v1/sandboxes", { cookie, ...asked }, made)).status).toBe(401);
    }
  }
  // A cookie that such a page set for all of localhost, if a browser let it: two are none.
  const two = `${cookie}; ${await sessionCookie()}`;
  const confused = { cookie: two, "sec-fetch-site": "same-origin" };
  expect((await ask(`localhost:${listensOn}`, "/v1/auth/me", confused)).status).toBe(401);
});

test("the session's cookie counts at no port's name and reaches no guest as a credential", async () => {
  const port = await app();
  const cookie = await sessionCookie();
  const ofApi = { cookie, "sec-fetch-site": "same-origin" };
  expect((await ask(`localhost:${listensOn}`, "/v1/auth/me", ofApi)).status).toBe(200);
  expect((await ask(nameOf(port), "/", ofApi)).status).toBe(401);
  const { body } = await ask(nameOf(port), "/", { cookie, ...withToken() });
  const [, secret = ""] = cookie.split("=");
  expect([secret.startsWith("sk_"), body.includes(secret)]).toEqual([true, false]);
});

test("a cookie for all of localhost is dropped from what a guest answers", async () => {
  const port = await guest.serve((_request, response) => {
    response.writeHead(200, ["Set-Cookie", "own=1", "Set-Cookie", "wide=1; Domain=localhost"]);
    response.end();
  });
  expect((await ask(nameOf(port), "/", withToken())).headers["set-cookie"]).toEqual(["own=1"]);
});
