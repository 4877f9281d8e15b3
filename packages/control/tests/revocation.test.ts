// What a revocation, an expiry, a removal and a lower role end, and how soon. A second replica hears of none of it: it has to
// find out by itself.

import { createHash } from "node:crypto";
import { connect, type AddressInfo } from "node:net";
import { sql } from "kysely";
import { beforeAll, expect, test } from "vitest";
import type { TokenCreated } from "@skerry/contract/organizations/token";
import { readEvents, type ServerEvent } from "../../sdk/src/http/event-stream.ts";
import { TokenCache, REVOCATION_MAX_MS } from "../src/auth/token-cache.ts";
import { openDatabase } from "../src/db/database.ts";
import { PausableProxy } from "./support/pausable-proxy.ts";
import { openReplica, type Replica } from "./support/replica.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
let id: string;
beforeAll(async () => {
  id = (await world.createSandbox()).id;
});

async function mint(body: unknown = {}): Promise<TokenCreated> {
  const answer = await world.call<TokenCreated>("POST", "/v1/auth/tokens", { body });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}

const revoke = (tokenId: string) => world.call("DELETE", `/v1/auth/tokens/${tokenId}`);

function statusAt(replica: Replica, token: string, path = "/v1/sizes"): Promise<number> {
  return fetch(replica.url + path, { headers: { authorization: `Bearer ${token}` } }).then(
    async (response) => {
      await response.arrayBuffer();
      return response.status;
    },
  );
}

async function openStream(url: string, token: string): Promise<AsyncGenerator<ServerEvent, void>> {
  const response = await fetch(`${url}/v1/sandboxes/${id}/execute`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "text/event-stream",
    },
    body: JSON.stringify({ command: "forever" }),
  });
  expect(response.status).toBe(200);
  if (response.body === null) throw new Error("an answer without a body");
  return readEvents(response.body);
}

/** The last event of the stream, and that it came in time. */
async function lastWord(events: AsyncGenerator<ServerEvent, void>, sinceMs: number): Promise<unknown> {
  const seen: ServerEvent[] = [];
  for await (const event of events) seen.push(event);
  expect(performance.now() - sinceMs).toBeLessThan(REVOCATION_MAX_MS);
  expect(seen.map(({ event }) => event)).toEqual(["start", "error"]);
  return (JSON.parse(seen[1]?.data ?? "{}") as { code?: unknown }).code;
}

test("a replica that has just served a token refuses it within the promised time after another has revoked it", async () => {
  await using replica = await openReplica(world);
  const token = await mint();
  expect(await statusAt(replica, token.token)).toBe(200);
  const revokedAtMs = performance.now();
  expect((await revoke(token.id)).status).toBe(204);
  expect((await world.call("GET", "/v1/sizes", { token: token.token })).status).toBe(401);
  await eventually(async () => (await statusAt(replica, token.token)) === 401, "the replica refuses it");
  expect(performance.now() - revokedAtMs).toBeLessThan(REVOCATION_MAX_MS);
});

test("a stream of events ends with an error when its token is revoked, on every replica, and its command is killed", async () => {
  await using replica = await openReplica(world);
  for (const url of [world.url, replica.url]) {
    const token = await mint();
    const aborted = world.host.aborted;
    const events = await openStream(url, token.token);
    const revokedAtMs = performance.now();
    await revoke(token.id);
    expect(await lastWord(events, revokedAtMs)).toBe("unauthorized");
    await eventually(() => world.host.aborted === aborted + 1, "the host is told to stop");
  }
});

test("a stream ends when its token expires", async () => {
  const token = await mint({ expires_in: "2s" });
  const events = await openStream(world.url, token.token);
  expect(await lastWord(events, Date.parse(token.expires_at ?? "") - performance.timeOrigin)).toBe(
    "unauthorized",
  );
});

test("a stream ends when its user may no longer run commands, or is no longer a member", async () => {
  const { user_id: userId } = await mint();
  const member = sql`update memberships set role = 'viewer' where user_id = ${userId} and org_id = ${world.orgId}`;
  const removed = sql`delete from memberships where user_id = ${userId} and org_id = ${world.orgId}`;
  const back = sql`
    insert into memberships (org_id, user_id, role) values (${world.orgId}, ${userId}, 'owner')
    on conflict (user_id, org_id) do update set role = 'owner'`;
  for (const [change, code] of [
    [member, "forbidden"],
    [removed, "organization_not_found"],
  ] as const) {
    const events = await openStream(world.url, world.token);
    const changedAtMs = performance.now();
    await change.execute(world.db);
    expect(await lastWord(events, changedAtMs)).toBe(code);
    await back.execute(world.db);
    const mayMint = async () => (await world.call("POST", "/v1/auth/tokens", { body: {} })).status === 201;
    await eventually(mayMint, "the owner is back");
  }
});

test("a command without a stream, an upload and a download end too", async () => {
  const token = await mint();
  const authorization = `Bearer ${token.token}`;
  const run = world.call("POST", `/v1/sandboxes/${id}/execute`, {
    body: { command: "forever" },
    token: token.token,
  });
  const upload = fetch(`${world.url}/v1/sandboxes/${id}/files/half`, {
    method: "PUT",
    headers: { authorization },
    duplex: "half",
    body: new ReadableStream({
      // Never ends by itself.
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        controller.enqueue(new Uint8Array(10));
      },
    }),
  } as RequestInit);
  const download = await fetch(`${world.url}/v1/sandboxes/${id}/files/endless/100000000`, {
    headers: { authorization },
  });
  expect(download.status).toBe(200);
  const reader = download.body?.getReader();
  await reader?.read();
  await eventually(() => world.host.calls.some((call) => call.endsWith("/file")), "the host has the upload");
  const revokedAtMs = performance.now();
  await revoke(token.id);
  expect((await run).body["code"]).toBe("unauthorized");
  expect((await upload).status).toBe(401);
  // Its length has been announced, so the client knows that it is not whole.
  const rest = async () => {
    while (reader !== undefined && !(await reader.read()).done);
  };
  await new Promise((resolve) =>
    setTimeout(resolve, Math.max(0, revokedAtMs + REVOCATION_MAX_MS - performance.now())),
  );
  await expect(rest()).rejects.toThrow();
  expect(world.host.files.has("/half")).toBe(false);
});

test("a client that reads nothing does not keep its stream", async () => {
  const token = await mint();
  const socket = connect((world.server.app.server.address() as AddressInfo).port, "127.0.0.1");
  const body = JSON.stringify({ command: "flood 1000000000" });
  const commands = world.host.commands.length;
  socket.pause();
  socket.write(
    `POST /v1/sandboxes/${id}/execute HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token.token}\r\n` +
      `accept: text/event-stream\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  const aborted = world.host.aborted;
  // Other connections are open too, so only the command says that this one has been let in.
  await eventually(() => world.host.commands.length > commands, "the command runs");
  await revoke(token.id);
  await eventually(() => world.host.aborted > aborted, "the command is killed");
  socket.destroy();
});

test.each(["silent", "closed"] as const)(
  "a replica whose database is %s believes nobody for longer than promised, and ends their streams",
  async (how) => {
    await using proxy = await PausableProxy.open(world.databaseUrl);
    await using replica = await openReplica(world, { databaseUrl: proxy.databaseUrl });
    const token = await mint();
    const events = await openStream(replica.url, token.token);
    expect(await statusAt(replica, token.token)).toBe(200);
    const shutAtMs = performance.now();
    proxy.pause(how);
    await revoke(token.id);
    expect(await lastWord(events, shutAtMs)).toBe("database_unavailable");
    proxy.pause("closed");
    expect(await statusAt(replica, token.token)).toBe(503);
  },
);

test("guessing tokens and organizations fills no memory, and a valid token costs no query while it is believed", async () => {
  let queries = 0;
  const db = openDatabase(world.databaseUrl, () => undefined);
  const tokenCache = new TokenCache(
    db.withPlugin({
      transformQuery: ({ node }) => {
        queries += 1;
        return node;
      },
      transformResult: async ({ result }) => result,
    }),
  );
  const digest = (n: number) => n.toString(16).padStart(64, "0");
  for (let n = 0; n < 50; n += 1) {
    expect(await tokenCache.find({ secretSha256: digest(n), orgId: undefined })).toBeUndefined();
  }
  expect(queries).toBe(50);
  expect(tokenCache.size).toBe(0);
  const valid = {
    secretSha256: createHash("sha256").update(world.token).digest("hex"),
    orgId: undefined,
  };
  for (let n = 0; n < 10; n += 1) {
    expect(await tokenCache.find({ ...valid, orgId: `org_${n}` })).toMatchObject({ caller: null });
  }
  expect(tokenCache.size).toBe(0);
  queries = 0;
  const found = await Promise.all(Array.from({ length: 100 }, () => tokenCache.find(valid)));
  expect(found).toEqual(
    found.map(() => expect.objectContaining({ caller: expect.objectContaining({ orgId: world.orgId }) })),
  );
  expect(await tokenCache.find(valid)).toMatchObject({ caller: { role: "owner" } });
  expect([queries <= 2, tokenCache.size]).toEqual([true, 1]);
  await db.destroy();
});

test("the answer to a question that was asked before a revocation is not believed after it", async () => {
  const { token, user_id: userId, id: tokenId } = await mint();
  const credentials = { secretSha256: createHash("sha256").update(token).digest("hex"), orgId: undefined };
  const tokenCache = new TokenCache(world.db);
  const early = tokenCache.find(credentials);
  tokenCache.forget(userId);
  expect(await early).toMatchObject({ userId });
  expect(tokenCache.size).toBe(0);
  await sql`update api_tokens set revoked_at = now() where id = ${tokenId}`.execute(world.db);
  expect(await tokenCache.find(credentials)).toBeUndefined();
});
