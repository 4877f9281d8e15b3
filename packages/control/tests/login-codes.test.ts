// Codes that log a browser in: what one is good for, and everything that it is not.

import { sql } from "kysely";
import { expect, test } from "vitest";
import type { Me } from "@skerry/contract/organizations/organization";
import type { LoginCode } from "@skerry/contract/organizations/login";
import type { TokenCreated } from "@skerry/contract/organizations/token";
import { expiredRowsSweeper } from "../src/platform/expired-rows-sweeper.ts";
import { Members } from "./support/members.ts";
import { openReplica } from "./support/replica.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const own = { "sec-fetch-site": "same-origin" };

async function mint(body: unknown = {}): Promise<TokenCreated> {
  return (await world.call<TokenCreated>("POST", "/v1/auth/tokens", { body })).body;
}

async function codeOf(token: string, headers: Record<string, string> = {}): Promise<string> {
  const { status, body, text } = await world.call<LoginCode>("POST", "/v1/auth/login-codes", {
    token,
    headers,
  });
  expect(status, text).toBe(200);
  return body.code;
}

function logIn(code: string, headers: Record<string, string> = own, url = world.url) {
  return world.call<Me & { readonly message: string }>("POST", "/v1/auth/sessions", {
    ...{ url, token: "", headers, body: { code } },
  });
}

/** The secret in the cookie of an answer. */
function secretIn(headers: Headers): string {
  return /^__Host-skerry=(sk_[A-Za-z0-9_-]{43});/.exec(headers.getSetCookie()[0] ?? "")?.[1] ?? "";
}

test("a code logs a browser in with the rights of the token that minted it, and is in the database as a hash alone", async () => {
  const token = await mint({ scopes: ["sandboxes:read"], expires_in: "1h" });
  const code = await codeOf(token.token);
  const { rows } = await sql<{ row: string }>`select login_codes::text as row from login_codes`.execute(
    world.db,
  );
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.map(({ row }) => row).join("\n")).not.toContain(code);
  const answer = await logIn(code);
  expect(answer.status, answer.text).toBe(200);
  expect(answer.body).toMatchObject({
    scopes: ["sandboxes:read"],
    expires_at: token.expires_at,
    organization_id: world.orgId,
  });
  const secret = secretIn(answer.headers);
  expect((await world.call("GET", "/v1/machines", { token: secret })).status).toBe(403);
  // It ends with the token, as every session does.
  await world.call("DELETE", `/v1/auth/tokens/${token.id}`);
  expect((await world.call("GET", "/v1/auth/me", { token: secret })).status).toBe(401);
  const events = await world.call<{ items: unknown[] }>("GET", "/v1/audit?action=session.code");
  expect(events.body.items).toContainEqual(
    expect.objectContaining({ actor: expect.objectContaining({ token_id: token.id }), outcome: "success" }),
  );
});

test("a code tells whom it logs in as often as it is asked, and nothing once it is spent, late or of a token that has ended", async () => {
  const ask = (code: string) =>
    world.call<Record<string, unknown>>("POST", "/v1/auth/login-codes/owner", { token: "", body: { code } });
  const me = (await world.call<Me>("GET", "/v1/auth/me")).body;
  const code = await codeOf(world.token);
  for (let times = 0; times < 2; times += 1) {
    const answer = await ask(code);
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([200, []]);
    expect(answer.body).toEqual({ name: me.name, organization_name: me.organization_name });
  }
  expect((await logIn(code)).status).toBe(200);
  const parent = await mint();
  const orphan = await codeOf(parent.token);
  await world.call("DELETE", `/v1/auth/tokens/${parent.id}`);
  const late = await codeOf(world.token);
  await sql`update login_codes set expires_at = now()`.execute(world.db);
  for (const bad of [code, orphan, late, "A".repeat(43), world.token])
    expect((await ask(bad)).status).toBe(401);
});

test("of many that send one code at once, on two replicas, one is let in", async () => {
  await using replica = await openReplica(world);
  const code = await codeOf(world.token);
  const urls = Array.from({ length: 8 }, (_, nth) => (nth % 2 === 0 ? world.url : replica.url));
  const answers = await Promise.all(urls.map((url) => logIn(code, own, url)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    200,
    ...Array.from({ length: 7 }, () => 401),
  ]);
  expect((await logIn(code)).body.message).toContain("The login code is not valid");
});

test("a code that is late, was guessed, or whose token was revoked lets no one in, and each is told the same or less", async () => {
  const late = await codeOf(world.token);
  await sql`update login_codes set expires_at = now()`.execute(world.db);
  const parent = await mint();
  const orphan = await codeOf(parent.token);
  await world.call("DELETE", `/v1/auth/tokens/${parent.id}`);
  for (const code of [late, orphan, "A".repeat(43), "x", world.token]) {
    const answer = await logIn(code);
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([401, []]);
  }
  expect((await logIn(late)).body.message).toBe((await logIn("B".repeat(43))).body.message);
});

test("a code is for its organization, whatever the request says, and not for one that its user has left", async () => {
  const members = new Members(world);
  const other = (await members.newOrganization()).path.split("/").at(-1) ?? "";
  const inOther = await logIn(await codeOf(world.token, { "x-org-id": other }));
  expect(inOther.body.organization_id).toBe(other);
  const here = await logIn(await codeOf(world.token), { ...own, "x-org-id": other });
  expect(here.body.organization_id).toBe(world.orgId);
  const code = await codeOf(world.token, { "x-org-id": other });
  await sql`delete from memberships where org_id = ${other}`.execute(world.db);
  const left = await logIn(code);
  // Within a moment the token is still believed to be good there; what mints the session looks again.
  expect([401, 404]).toContain(left.status);
  expect(left.headers.getSetCookie()).toEqual([]);
});

test("a page of another origin neither uses a code nor spends it", async () => {
  const code = await codeOf(world.token);
  for (const site of ["cross-site", "same-site", "none"])
    expect((await logIn(code, { "sec-fetch-site": site })).status, site).toBe(403);
  expect((await logIn(code, {})).status).toBe(403);
  expect((await logIn(code)).status).toBe(200);
});

test("a session that mints a code hands on its token's rights, and ends before the other session does", async () => {
  const parent = await mint({ scopes: ["sandboxes:read"] });
  const first = secretIn((await logIn(await codeOf(parent.token))).headers);
  const second = await logIn(await codeOf(first));
  expect(second.body.scopes).toEqual(["sandboxes:read"]);
  await world.call("DELETE", "/v1/auth/sessions", { token: first });
  const secret = secretIn(second.headers);
  expect((await world.call("GET", "/v1/auth/me", { token: secret })).status).toBe(200);
  // A code of a session that has ended since.
  const late = await codeOf(secret);
  await world.call("DELETE", "/v1/auth/sessions", { token: secret });
  expect((await logIn(late)).status).toBe(401);
});

test("a login has a token or a code, and never both or none of them", async () => {
  for (const body of [{}, { token: world.token, code: "A".repeat(43) }]) {
    const answer = await world.call<{ code: string }>("POST", "/v1/auth/sessions", {
      ...{ token: "", headers: own, body },
    });
    expect([answer.status, answer.body.code]).toEqual([400, "bad_request"]);
  }
  expect((await world.call("POST", "/v1/auth/login-codes", { token: "" })).status).toBe(401);
});

test("codes that were never used are swept", async () => {
  await codeOf(world.token);
  const left = async () =>
    (await sql<{ n: number }>`select count(*)::int as n from login_codes`.execute(world.db)).rows[0]?.n;
  await expiredRowsSweeper(world.context, 1).activate(AbortSignal.timeout(60_000));
  expect(await left()).toBeGreaterThan(0);
  await sql`update login_codes set expires_at = now() - interval '1 second'`.execute(world.db);
  await expiredRowsSweeper(world.context, 1).activate(AbortSignal.timeout(60_000));
  expect(await left()).toBe(0);
});

test("codes are swept also where rows of another table cannot be removed", async () => {
  await codeOf(world.token);
  await sql`update login_codes set expires_at = now() - interval '1 second'`.execute(world.db);
  await sql`create function refuse() returns trigger language plpgsql as $$ begin raise 'it stays'; end $$`.execute(
    world.db,
  );
  await sql`create trigger refuse before delete on join_tokens execute function refuse()`.execute(world.db);
  try {
    const report = await expiredRowsSweeper(world.context, 1).activate(AbortSignal.timeout(60_000));
    expect(report).toMatchObject({ failed: 1, more: false });
    expect(report.changed).toBeGreaterThan(0);
    const { rows } = await sql`select 1 from login_codes`.execute(world.db);
    expect(rows).toEqual([]);
  } finally {
    await sql`drop function refuse cascade`.execute(world.db);
  }
});
