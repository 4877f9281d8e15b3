// Sessions of browsers: what the cookie is good for, where it does not count, and what ends it.

import { request as httpRequest, type IncomingMessage } from "node:http";
import { once } from "node:events";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import type { Me } from "@skerry/contract/organizations/organization";
import type { TokenCreated, TokenList } from "@skerry/contract/organizations/token";
import { readEvents } from "../../sdk/src/http/event-stream.ts";
import { expiredRowsSweeper } from "../src/platform/expired-rows-sweeper.ts";
import { Members } from "./support/members.ts";
import { openReplica } from "./support/replica.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
const own = { "sec-fetch-site": "same-origin" };
const COOKIE =
  /^__Host-skerry=(sk_[A-Za-z0-9_-]{43}); Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=43200$/;

async function mint(body: unknown = {}): Promise<TokenCreated> {
  return (await world.call<TokenCreated>("POST", "/v1/auth/tokens", { body })).body;
}

interface LoggedIn {
  readonly me: Me;
  readonly cookie: string;
  readonly secret: string;
}

async function logIn(token = world.token, headers: Record<string, string> = {}): Promise<LoggedIn> {
  const answer = await world.call<Me>("POST", "/v1/auth/sessions", {
    ...{ token: "", body: { token } },
    headers: {
      ...own,
      "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0.0.0 Safari/537.36",
      ...headers,
    },
  });
  expect(answer.status, answer.text).toBe(200);
  const [cookie = "", ...others] = answer.headers.getSetCookie();
  expect(others).toEqual([]);
  const [, secret = ""] = COOKIE.exec(cookie) ?? [];
  expect(secret).not.toBe("");
  expect(answer.text).not.toContain(secret);
  return { me: answer.body, cookie: `other=1; __Host-skerry=${secret}`, secret };
}

/** Not by `fetch`, which decides itself what it says of the page. */
async function status(method: string, path: string, headers: Record<string, string>): Promise<number> {
  const request = httpRequest(world.url + path, { method, headers });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.destroy();
  return response.statusCode ?? 0;
}

test("a login answers who it is for, and leaves a child of the token as a cookie that no script reads", async () => {
  const token = await mint({ scopes: ["sandboxes:read"], name: "narrow" });
  const { me, cookie } = await logIn(token.token);
  expect(me).toMatchObject({
    token_name: "browser: Chromium on Linux",
    scopes: ["sandboxes:read"],
    organization_id: world.orgId,
  });
  const leftMs = Date.parse(me.expires_at ?? "") - Date.now();
  expect(leftMs).toBeGreaterThan(11 * 3_600_000);
  expect(leftMs).toBeLessThan(13 * 3_600_000);
  const asked = await world.call<Me>("GET", "/v1/auth/me", { token: "", headers: { ...own, cookie } });
  expect(asked.body.token_id).toBe(me.token_id);
  expect(await status("GET", "/v1/machines", { ...own, cookie })).toBe(403);
  const events = await world.call<{ items: unknown[] }>("GET", `/v1/audit?action=session.create`);
  expect(events.body.items).toContainEqual(
    expect.objectContaining({
      actor: expect.objectContaining({ token_id: token.id }),
      resource: { kind: "token", id: me.token_id, name: me.token_name },
    }),
  );
});

test("a session ends no later than its token, and works in the organization that its login names", async () => {
  const short = await mint({ expires_in: "1h" });
  expect((await logIn(short.token)).me.expires_at).toBe(short.expires_at);
  const organization = await new Members(world).newOrganization();
  const id = organization.path.split("/").at(-1) ?? "";
  expect((await logIn(world.token, { "x-org-id": id })).me.organization_id).toBe(id);
});

test("what is no token, and a page that is not ours, logs nobody in", async () => {
  const refused = async (token: string, headers: Record<string, string>) => {
    const answer = await world.call("POST", "/v1/auth/sessions", { token: "", body: { token }, headers });
    expect(answer.headers.getSetCookie()).toEqual([]);
    return answer.status;
  };
  expect(await refused("sk_wrong", own)).toBe(401);
  expect(await refused(`sk_${"A".repeat(43)}`, own)).toBe(401);
  for (const site of ["same-site", "cross-site", "none"])
    expect(await refused(world.token, { "sec-fetch-site": site }), site).toBe(403);
  expect(await refused(world.token, {})).toBe(403);
});

test("the cookie counts for pages of this origin alone, and never beside a token", async () => {
  const { cookie } = await logIn();
  const { id } = await world.createSandbox();
  const paths = [
    ["GET", "/v1/sandboxes"],
    ["POST", `/v1/sandboxes/${id}/keepalive`],
    ["DELETE", `/v1/sandboxes/${id}`],
    ["GET", "/v1/events"],
  ] as const;
  for (const [method, path] of paths) {
    // Another port, another name, an address that was typed, a browser that does not say, and one that says two things.
    for (const site of ["same-site", "cross-site", "none", "same-origin, cross-site"])
      expect(await status(method, path, { cookie, "sec-fetch-site": site }), `${path} ${site}`).toBe(401);
    expect(await status(method, path, { cookie }), path).toBe(401);
  }
  const stream = { ...own, cookie, accept: "text/event-stream" };
  expect(await status("GET", "/v1/events", stream)).toBe(200);
  expect(await status("GET", "/v1/events", { ...stream, "sec-fetch-site": "same-site" })).toBe(401);
  for (const other of [
    { authorization: `Bearer sk_${"A".repeat(43)}` },
    { authorization: "Basic YTpi" },
    { "x-api-key": "" },
  ])
    expect(await status("GET", "/v1/sandboxes", { ...own, cookie, ...other })).toBe(401);
  const twice = `${cookie}; __Host-skerry=sk_${"B".repeat(43)}`;
  expect(await status("GET", "/v1/sandboxes", { ...own, cookie: twice })).toBe(401);
  expect(await status("GET", "/v1/sandboxes", { ...own, cookie })).toBe(200);
});

test("a WebSocket is begun with the cookie by a page of this origin alone", async () => {
  const { cookie } = await logIn();
  const { id } = await world.createSandbox();
  const url = `${world.url.replace("http", "ws")}/v1/sandboxes/${id}/exec?command=repeat`;
  const begun = (headers: Record<string, string>) =>
    new Promise<number>((resolve, reject) => {
      const socket = new WebSocket(url, ["v5.channel.k8s.io"], { headers: { cookie, ...headers } });
      socket.once("open", () => {
        socket.terminate();
        resolve(101);
      });
      socket.once("unexpected-response", (request, response) => {
        request.destroy();
        resolve(response.statusCode ?? 0);
      });
      socket.once("error", reject);
    });
  expect(await begun({ origin: world.url })).toBe(101);
  const port = Number(new URL(world.url).port);
  for (const origin of [
    `http://127.0.0.1:${port + 1}`,
    `http://localhost:${port}`,
    "null",
    "https://evil.test",
  ])
    expect(await begun({ origin }), origin).toBe(401);
  expect(await begun({})).toBe(401);
  expect(await begun({ origin: world.url, "sec-fetch-site": "same-site" })).toBe(401);
});

test("the cookie opens no port: what a guest answers could lead a page of ours on", async () => {
  const { cookie } = await logIn();
  const { id } = await world.createSandbox();
  expect(await status("GET", `/v1/sandboxes/${id}/ports/3000/`, { ...own, cookie })).toBe(401);
});

test("logging out ends the session at once, and nothing that was minted in it", async () => {
  const parent = await mint();
  const { cookie, me } = await logIn(parent.token);
  const headers = { ...own, cookie };
  const minted = await world.call<TokenCreated>("POST", "/v1/auth/tokens", { token: "", headers, body: {} });
  expect([minted.status, minted.body.expires_at]).toEqual([201, null]);
  const out = await world.call("DELETE", "/v1/auth/sessions", { token: "", headers });
  expect(out.status).toBe(204);
  expect(out.headers.getSetCookie()).toEqual([
    "__Host-skerry=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0",
  ]);
  expect(await status("GET", "/v1/sizes", headers)).toBe(401);
  const works = () => world.call("GET", "/v1/sizes", { token: minted.body.token });
  expect((await works()).status).toBe(200);
  // Of another token it ends nothing.
  expect((await world.call("DELETE", "/v1/auth/sessions", { token: parent.token })).status).toBe(204);
  const { body } = await world.call<TokenList>("GET", "/v1/auth/tokens?limit=500");
  const listed = body.items.map(({ id }) => id);
  expect([listed.includes(parent.id), listed.includes(me.token_id)]).toEqual([true, false]);
  await world.call("DELETE", `/v1/auth/tokens/${parent.id}`);
  expect((await works()).status).toBe(401);
});

test("a session that begins another one has it end with the token, not with itself", async () => {
  const parent = await mint();
  const first = await logIn(parent.token);
  const second = await logIn(first.secret);
  await world.call("DELETE", "/v1/auth/sessions", { token: first.secret });
  expect(await status("GET", "/v1/sizes", { ...own, cookie: second.cookie })).toBe(200);
  await world.call("DELETE", `/v1/auth/tokens/${parent.id}`);
  expect(await status("GET", "/v1/sizes", { ...own, cookie: second.cookie })).toBe(401);
});

test("a session that was not used for an hour has ended, one that was is not", async () => {
  const { cookie, me, secret } = await logIn();
  const headers = { ...own, cookie };
  const used = (minutes: number) =>
    sql`update api_tokens set created_at = now() - interval '3 hours', last_used_at = now() - ${minutes} * interval '1 minute'
        where id = ${me.token_id}`.execute(world.db);
  await used(59);
  expect(await status("GET", "/v1/sizes", headers)).toBe(200);
  // It was written that it is in use.
  await using replica = await openReplica(world);
  const elsewhere = () => world.call("GET", "/v1/sizes", { url: replica.url, token: secret });
  expect((await elsewhere()).status).toBe(200);
  await used(61);
  await eventually(async () => (await elsewhere()).status === 401, "the session has ended");
  expect(await status("POST", "/v1/auth/tokens", headers)).toBe(401);
});

test("a session that has ended is not among the tokens, and is swept a day later", async () => {
  const { me } = await logIn();
  const listed = async () => {
    const { body } = await world.call<TokenList>("GET", "/v1/auth/tokens?limit=500");
    return body.items.some(({ id }) => id === me.token_id);
  };
  const kept = async () =>
    (await sql`select 1 from api_tokens where id = ${me.token_id}`.execute(world.db)).rows.length === 1;
  const sweep = () => expiredRowsSweeper(world.context, 1).activate(AbortSignal.timeout(60_000));
  const endedHoursAgo = (hours: number) =>
    sql`update api_tokens set created_at = now() - interval '3 days', last_used_at = now() - ${hours + 1} * interval '1 hour'
        where id = ${me.token_id}`.execute(world.db);
  expect(await listed()).toBe(true);
  await endedHoursAgo(1);
  await sweep();
  expect([await listed(), await kept()]).toEqual([false, true]);
  await endedHoursAgo(25);
  await sweep();
  expect(await kept()).toBe(false);
  // Any other token that has expired stands in the list until it is revoked.
  const token = await mint({ expires_in: "1h" });
  await sql`update api_tokens set expires_at = now() - interval '9 days' where id = ${token.id}`.execute(
    world.db,
  );
  await sweep();
  const { body } = await world.call<TokenList>("GET", "/v1/auth/tokens?limit=500");
  expect(body.items.map(({ id }) => id)).toContain(token.id);
});

test("a token is told which token of its organization minted it, and never one of another", async () => {
  const parent = await mint();
  const child = await world.call<TokenCreated>("POST", "/v1/auth/tokens", { token: parent.token, body: {} });
  expect(child.body.parent_id).toBe(parent.id);
  const other = (await new Members(world).newOrganization()).path.split("/").at(-1) ?? "";
  const headers = { "x-org-id": other };
  const elsewhere = await world.call<TokenCreated>("POST", "/v1/auth/tokens", { headers, body: {} });
  expect([elsewhere.status, elsewhere.body.parent_id]).toEqual([201, null]);
  const list = await world.call<TokenList>("GET", "/v1/auth/tokens", { headers });
  expect(list.body.items.find(({ id }) => id === elsewhere.body.id)?.parent_id).toBe(null);
});

test("revoking its token ends a session and the stream that it has open", async () => {
  const parent = await mint();
  const { cookie } = await logIn(parent.token);
  const response = await new Promise<IncomingMessage>((resolve) => {
    const headers = { ...own, cookie, accept: "text/event-stream" };
    httpRequest(`${world.url}/v1/events`, { headers }, resolve).end();
  });
  expect(response.statusCode).toBe(200);
  const seen: string[] = [];
  let told = "";
  const events = readEvents(ReadableStream.from(response) as ReadableStream<Uint8Array<ArrayBuffer>>);
  for await (const { event, data } of events) {
    seen.push(event);
    told = data;
    if (event === "synced" && seen.filter((one) => one === "synced").length === 1)
      await world.call("DELETE", `/v1/auth/tokens/${parent.id}`);
  }
  expect(seen.at(-1)).toBe("error");
  expect(JSON.parse(told)).toMatchObject({ code: "unauthorized" });
  expect(await status("GET", "/v1/sizes", { ...own, cookie })).toBe(401);
});

test("an eleventh session of a token ends its first", async () => {
  const parent = await mint();
  const all: LoggedIn[] = [];
  for (let nth = 0; nth < 11; nth += 1) all.push(await logIn(parent.token));
  const states = await Promise.all(all.map(({ cookie }) => status("GET", "/v1/sizes", { ...own, cookie })));
  expect(states).toEqual([401, ...Array.from({ length: 10 }, () => 200)]);
});
