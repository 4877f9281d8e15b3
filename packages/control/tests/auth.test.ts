import { sql } from "kysely";
import { expect, test } from "vitest";
import { bootstrap } from "../src/organizations/tokens.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();

interface Minted {
  readonly id: string;
  readonly token: string;
  readonly expires_at: string | null;
}

async function mint(body: unknown = {}, token: string = world.token): Promise<Minted> {
  const answer = await world.call<Minted>("POST", "/v1/auth/tokens", { body, token });
  expect(answer.status).toBe(201);
  return answer.body;
}

test("health needs no token and answers without the database", async () => {
  const answer = await world.call("GET", "/v1/health", { token: "" });
  expect([answer.status, answer.body]).toEqual([200, { status: "healthy" }]);
});

test("every other call needs a token, and every bad one gets the same answer", async () => {
  const bad = ["", "sk_wrong", "nonsense", (await mint()).token + "x"];
  const messages = new Set<unknown>();
  for (const token of bad) {
    for (const [method, path] of [
      ["GET", "/v1/sandboxes"],
      ["POST", "/v1/sandboxes"],
      ["GET", "/v1/sizes"],
      ["GET", "/v1/templates"],
      ["POST", "/v1/auth/tokens"],
      ["PUT", "/v1/sandboxes/sbx_1/files/a"],
    ] as const) {
      const answer = await world.call(method, path, { token });
      expect([answer.status, answer.body["code"]], `${method} ${path}`).toEqual([401, "unauthorized"]);
      messages.add(answer.body["message"]);
    }
  }
  expect(messages.size).toBe(1);
});

test("a token works as Bearer and as X-API-Key", async () => {
  const { token } = await mint();
  expect((await world.call("GET", "/v1/sandboxes", { token })).status).toBe(200);
  const key = await world.call("GET", "/v1/sandboxes", { token: "", headers: { "x-api-key": token } });
  expect(key.status).toBe(200);
});

test("a revoked token is refused by the very next request", async () => {
  const { id, token } = await mint({ name: "short" });
  expect((await world.call("GET", "/v1/sizes", { token })).status).toBe(200);
  expect((await world.call("DELETE", `/v1/auth/tokens/${id}`)).status).toBe(204);
  expect((await world.call("GET", "/v1/sizes", { token })).status).toBe(401);
  expect((await world.call("DELETE", `/v1/auth/tokens/${id}`)).status).toBe(204);
  const list = await world.call<{ items: Minted[] }>("GET", "/v1/auth/tokens");
  expect(list.body.items.some((item) => item.id === id)).toBe(false);
});

test("a token ends when its lifetime is over, by the clock of the database", async () => {
  const { id, token, expires_at } = await mint({ expires_in: "1h" });
  expect(Date.parse(expires_at ?? "") - Date.now()).toBeGreaterThan(59 * 60_000);
  expect((await world.call("GET", "/v1/sizes", { token })).status).toBe(200);
  await sql`update api_tokens set expires_at = now() - interval '1 ms' where id = ${id}`.execute(world.db);
  await eventually(
    async () => (await world.call("GET", "/v1/sizes", { token })).status === 401,
    "the token is refused",
  );
  const at = "2026-01-02T03:04:05.678Z";
  await sql`update api_tokens set expires_at = ${at} where id = ${id}`.execute(world.db);
  const said = await world.call<{ context: unknown }>("GET", "/v1/sizes", { token });
  expect(said.body).toMatchObject({ code: "unauthorized", message: `The API token expired at ${at}.` });
  expect(said.body.context).toEqual({ expired_at: at });
  // What was revoked says nothing of itself any more, and a guess never hears of an expiry.
  await sql`update api_tokens set revoked_at = now() where id = ${id}`.execute(world.db);
  for (const other of [token, `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`]) {
    const silent = await world.call("GET", "/v1/sizes", { token: other });
    expect(silent.body["message"]).toBe(
      "The request has no valid API token: it is missing, unknown or revoked.",
    );
  }
  const bad = await world.call("POST", "/v1/auth/tokens", { body: { expires_in: "1 week" } });
  expect(bad.body["code"]).toBe("invalid_duration");
});

test("a token never outlives the one that minted it", async () => {
  const parent = await mint({ expires_in: "1h" });
  const silent = await mint({}, parent.token);
  expect(silent.expires_at).toBe(parent.expires_at);
  const shorter = await mint({ expires_in: "30m" }, parent.token);
  expect(Date.parse(shorter.expires_at ?? "")).toBeLessThan(
    Date.parse(parent.expires_at ?? "") - 29 * 60_000,
  );
  const grandchild = await mint({}, shorter.token);
  expect(grandchild.expires_at).toBe(shorter.expires_at);
  const longer = await world.call("POST", "/v1/auth/tokens", {
    body: { expires_in: "61m" },
    token: parent.token,
  });
  expect([longer.status, longer.body["code"]]).toEqual([422, "timeout_too_long"]);
  expect(longer.body["message"]).toContain(parent.expires_at);
  expect((await mint()).expires_at).toBeNull();
});

test("revoking a token revokes all that came from it, in every organization, and no other", async () => {
  const second = "org_00000000000000000000000002";
  await sql`insert into organizations (id, name) values (${second}, 'elsewhere')`.execute(world.db);
  await sql`
    insert into memberships (org_id, user_id, role) select ${second}, user_id, role from memberships where org_id = ${world.orgId}
  `.execute(world.db);
  const parent = await mint();
  const sibling = await mint();
  const elsewhere = await world.call<Minted>("POST", "/v1/auth/tokens", {
    body: {},
    token: parent.token,
    headers: { "x-org-id": second },
  });
  const grandchild = await mint({}, (await mint({}, parent.token)).token);
  const works = async (token: string) => (await world.call("GET", "/v1/sizes", { token })).status;
  const family = [parent.token, elsewhere.body.token, grandchild.token];
  expect(await Promise.all([...family, sibling.token].map(works))).toEqual([200, 200, 200, 200]);
  expect((await world.call("DELETE", `/v1/auth/tokens/${parent.id}`)).status).toBe(204);
  expect(await Promise.all([...family, sibling.token].map(works))).toEqual([401, 401, 401, 200]);
});

test("a token that is minted while its parent is revoked does not survive it", async () => {
  for (let round = 0; round < 10; round += 1) {
    const parent = await mint();
    const children = [1, 2, 3, 4].map(() =>
      world.call<Minted>("POST", "/v1/auth/tokens", { body: {}, token: parent.token }),
    );
    const revoked = await world.call("DELETE", `/v1/auth/tokens/${parent.id}`);
    expect(revoked.status).toBe(204);
    for (const child of await Promise.all(children)) {
      if (child.status === 201) {
        expect((await world.call("GET", "/v1/sizes", { token: child.body.token })).status).toBe(401);
      } else {
        expect(child.status).toBe(401);
      }
    }
  }
});

test("the secret of a token is nowhere in the database", async () => {
  const { token } = await mint({ name: "secret" });
  const { rows } = await sql<{ dump: string }>`select t::text as dump from api_tokens t`.execute(world.db);
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.some((row) => row.dump.includes(token.slice(3)))).toBe(false);
});

test("a stranger finds none of our sandboxes by any call, and cannot revoke our tokens", async () => {
  const { id } = await world.createSandbox();
  const { id: tokenId } = await mint();
  const token = await world.strangerToken();
  const nothing = "sbx_00000000000000000000000000";
  const calls = [
    ["GET", `/v1/sandboxes/${id}`, undefined],
    ["DELETE", `/v1/sandboxes/${id}`, undefined],
    ["POST", `/v1/sandboxes/${id}/keepalive`, { timeout: "1m" }],
    ["POST", `/v1/sandboxes/${id}/execute`, { command: "true" }],
    ["GET", `/v1/sandboxes/${id}/files/etc/passwd`, undefined],
    ["GET", `/v1/sandboxes/${id}/files/etc?list=true`, undefined],
    ["PUT", `/v1/sandboxes/${id}/files/tmp/x`, undefined],
  ] as const;
  for (const [method, path, body] of calls) {
    const foreign = await world.call(method, path, { body, token });
    const absent = await world.call(method, path.replace(id, nothing), { body });
    expect([foreign.status, foreign.body["code"]], `${method} ${path}`).toEqual([404, "sandbox_not_found"]);
    expect(String(foreign.body["message"]).replace(id, nothing)).toBe(absent.body["message"]);
  }
  const list = await world.call<{ items: unknown[] }>("GET", "/v1/sandboxes", { token });
  expect(list.body.items).toEqual([]);
  const revoked = await world.call("DELETE", `/v1/auth/tokens/${tokenId}`, { token });
  expect([revoked.status, revoked.body["code"]]).toEqual([404, "token_not_found"]);
  expect((await world.call("GET", `/v1/sandboxes/${id}`)).body["status"]).toBe("running");
});

test("X-Org-ID chooses an organization of the caller, and no other", async () => {
  const choose = (organization: string) =>
    world.call("GET", "/v1/sandboxes", { headers: { "x-org-id": organization } });
  expect((await choose(world.orgId)).status).toBe(200);
  for (const other of ["org_00000000000000000000000000", "nonsense", ""]) {
    const answer = await choose(other);
    expect([answer.status, answer.body["code"]], other).toEqual([404, "organization_not_found"]);
  }
  const second = "org_00000000000000000000000001";
  await sql`insert into organizations (id, name) values (${second}, 'second')`.execute(world.db);
  expect((await choose(second)).status).toBe(404);
  await sql`
    insert into memberships (org_id, user_id, role) select ${second}, user_id, role from memberships where org_id = ${world.orgId}
  `.execute(world.db);
  expect((await choose(second)).status).toBe(200);
});

test("a bootstrap adds a token to the first organization and never makes a second one", async () => {
  const minted = await Promise.all([bootstrap(world.db, "one"), bootstrap(world.db, "two")]);
  expect(minted.map((token) => token.organization_id)).toEqual([world.orgId, world.orgId]);
  expect((await world.call("GET", "/v1/sizes", { token: minted[0]?.token ?? "" })).status).toBe(200);
});

test("the last use of a token is known to the minute", async () => {
  const { id, token } = await mint();
  await world.call("GET", "/v1/sizes", { token });
  const list = await world.call<{ items: { id: string; last_used_at: string | null }[] }>(
    "GET",
    "/v1/auth/tokens",
  );
  const used = list.body.items.find((item) => item.id === id)?.last_used_at;
  expect(Date.now() - Date.parse(used ?? "")).toBeLessThan(60_000);
});
