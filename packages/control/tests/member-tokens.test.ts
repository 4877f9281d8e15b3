// Tokens that an admin mints for another member: what they are good for, and what those try who want more of them.

import { sql } from "kysely";
import { beforeAll, expect, test } from "vitest";
import type { AuditList } from "@skerry/contract/audit/audit-event";
import { done, Members, refused } from "./support/members.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
let members: Members;
beforeAll(() => {
  members = new Members(world);
});

test("an admin mints a token for a member who lost theirs, and it is worth what the member's role is", async () => {
  const admin = await members.newMember("admin");
  const viewer = await members.newMember("viewer");
  const minted = await done(201, members.mint(admin.secret, { user_id: viewer.user_id, name: "laptop" }));
  expect(minted).toMatchObject({ user_id: viewer.user_id, name: "laptop", bound: true });
  expect(await members.me(minted.token)).toMatchObject({ user_id: viewer.user_id, role: "viewer" });
  expect((await world.call("GET", "/v1/sandboxes", { token: minted.token })).status).toBe(200);
  const create = await world.call("POST", "/v1/sandboxes", {
    token: minted.token,
    body: { template: "base" },
  });
  expect(refused(create)).toEqual([403, "forbidden"]);
  // It is the member's, and no secret between the admin and the organization.
  const own = await world.call<{ items: { id: string }[] }>("GET", "/v1/auth/tokens", {
    token: viewer.secret,
  });
  expect(own.body.items.map(({ id }) => id)).toContain(minted.id);
  const { body: log } = await world.call<AuditList>("GET", "/v1/audit?action=token.create");
  expect(log.items.find(({ resource }) => resource.id === minted.id)?.actor.user_id).toBe(admin.user_id);
});

test("only an admin mints for others, never for one above, and only with the scope for members", async () => {
  const owner = await members.newMember("owner");
  const admin = await members.newMember("admin");
  const member = await members.newMember("member");
  const limited = await done(201, members.mint(admin.secret, { scopes: ["tokens:write", "org:read"] }));
  const attempts = [
    members.mint(admin.secret, { user_id: owner.user_id }),
    members.mint(member.secret, { user_id: admin.user_id }),
    members.mint(member.secret, { user_id: owner.user_id }),
    members.mint(limited.token, { user_id: member.user_id }),
    members.mint(admin.secret, { user_id: member.user_id, bound: false }),
    members.mint(admin.secret, { user_id: member.user_id, scopes: ["org:write"] }),
    members.mint(admin.secret, { user_id: member.user_id, scopes: ["platform:write"] }),
    // Whether there is such a member is for admins to know.
    members.mint(member.secret, { user_id: "usr_00000000000000000000000000" }),
  ];
  for (const attempt of await Promise.all(attempts)) expect(refused(attempt)).toEqual([403, "forbidden"]);
  // One's own id is no other's.
  expect((await members.mint(member.secret, { user_id: member.user_id })).status).toBe(201);
  await done(201, members.mint(owner.secret, { user_id: admin.user_id }));
});

test("a token of a narrow admin token is as narrow, and as short", async () => {
  const admin = await members.newMember("admin");
  const member = await members.newMember("member");
  const scopes = ["org:write", "tokens:write", "sandboxes:read"];
  const narrow = await done(201, members.mint(admin.secret, { scopes, expires_in: "1h" }));
  const minted = await done(201, members.mint(narrow.token, { user_id: member.user_id }));
  expect([minted.scopes, minted.expires_at]).toEqual([scopes, narrow.expires_at]);
  const create = await world.call("POST", "/v1/sandboxes", {
    token: minted.token,
    body: { template: "base" },
  });
  expect(refused(create)).toEqual([403, "forbidden"]);
  const longer = await members.mint(narrow.token, { user_id: member.user_id, expires_in: "2h" });
  expect(refused(longer)).toEqual([422, "timeout_too_long"]);
});

test("an admin of one organization mints for none of another, and the token stays in its organization", async () => {
  const { id, path } = await members.newOrganization();
  const stranger = await members.newMember("admin", path);
  const member = await members.newMember("member");
  for (const user_id of [member.user_id, "usr_00000000000000000000000000", "' or 1=1"])
    expect(refused(await members.mint(stranger.secret, { user_id }))).toEqual([404, "member_not_found"]);
  // A member of both: what the admin of the one has seen opens nothing in the other.
  await done(201, members.add({ user_id: member.user_id, role: "viewer" }, { at: path }));
  const minted = await done(201, members.mint(stranger.secret, { user_id: member.user_id }));
  expect(await members.me(minted.token)).toMatchObject({ organization_id: id, role: "viewer" });
  const elsewhere = await world.call("GET", "/v1/auth/me", {
    token: minted.token,
    headers: { "x-org-id": world.orgId },
  });
  expect(refused(elsewhere)).toEqual([404, "organization_not_found"]);
});

test("it outlives the admin's token, and ends with the membership", async () => {
  const admin = await members.newMember("admin");
  const member = await members.newMember("member");
  const minted = await done(201, members.mint(admin.secret, { user_id: member.user_id }));
  await done(204, members.remove(world.token, admin.user_id));
  expect((await members.me(minted.token)).user_id).toBe(member.user_id);
  await done(204, members.remove(world.token, member.user_id));
  expect((await world.call("GET", "/v1/auth/me", { token: minted.token })).status).toBe(401);
  expect(refused(await members.mint(world.token, { user_id: member.user_id }))).toEqual([
    404,
    "member_not_found",
  ]);
});

const WEEK_MS = 7 * 24 * 3_600_000;

test("the first token of a member ends after a week where it is not used, and lasts where it is", async () => {
  const used = await members.newMember("member");
  const unused = await members.newMember("member");
  const lifetime = Date.parse(unused.token.expires_at ?? "") - Date.parse(unused.token.created_at);
  expect(lifetime).toBe(WEEK_MS);
  expect((await members.me(used.secret)).expires_at).toBeNull();
  await sql`update api_tokens set expires_at = now() - interval '1 second'
    where id in (${unused.token.id}, ${used.token.id}) and expires_at is not null`.execute(world.db);
  const late = await world.call("GET", "/v1/auth/me", { token: unused.secret });
  expect([late.status, late.body["message"]]).toEqual([401, expect.stringContaining("expired at")]);
  expect((await members.me(used.secret)).user_id).toBe(used.user_id);
});

test("an invitation of a token that ends ends no later, used or not, and its time has a bound", async () => {
  const admin = await members.newMember("admin");
  const short = await done(201, members.mint(admin.secret, { expires_in: "2h" }));
  const add = (body: object) =>
    members.add({ name: `guest ${JSON.stringify(body)}`, role: "viewer", ...body }, { token: short.token });
  const hour = await done(201, add({ expires_in: "1h" }));
  const lifetime = Date.parse(hour.token.expires_at ?? "") - Date.parse(hour.token.created_at);
  expect(lifetime).toBe(3_600_000);
  expect((await members.me(hour.token.token)).expires_at).toBe(short.expires_at);
  const week = await done(201, add({}));
  expect(week.token.expires_at).toBe(short.expires_at);
  expect(refused(await add({ expires_in: "2161h" }))).toEqual([422, "timeout_too_long"]);
  expect(refused(await add({ expires_in: "soon" }))).toEqual([400, "invalid_duration"]);
});
