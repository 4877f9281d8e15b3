// Organizations and their members.

import { sql } from "kysely";
import { beforeAll, expect, test } from "vitest";
import { roles } from "@skerry/contract/organizations/roles";
import type { Member, Organization } from "@skerry/contract/organizations/organization";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { done, Members, refused, type Body } from "./support/members.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
let members: Members;
beforeAll(async () => {
  members = new Members(world);
});

test("a new organization belongs to whoever made it, and is theirs to work in with X-Org-ID", async () => {
  const { id, name, role, egress_default } = await members.newOrganization({ name: "Ärzte & Söhne" });
  expect([name, role, egress_default]).toEqual(["Ärzte & Söhne", "owner", "allow_all"]);
  const list = await done(200, world.call<{ items: Organization[] }>("GET", "/v1/orgs"));
  expect(list.items.map((item) => item.id)).toEqual([id, world.orgId]);
  const sandbox = await done(
    201,
    world.call<Sandbox>("POST", "/v1/sandboxes", { body: { template: "base" }, headers: { "x-org-id": id } }),
  );
  expect((await world.call("GET", `/v1/sandboxes/${sandbox.id}`)).status).toBe(404);
  const there = await members.me(world.token, { "x-org-id": id });
  expect([there.organization_id, there.organization_name]).toEqual([id, name]);
  const renamed = await done(
    200,
    world.call<Organization>("PATCH", `/v1/orgs/${id}`, { body: { name: "Other" } }),
  );
  expect([renamed.name, renamed.egress_default]).toEqual(["Other", "allow_all"]);
});

test("only the operator's organization makes organizations: elsewhere they would be a way around every limit", async () => {
  const { path } = await members.newOrganization();
  const owner = await members.newMember("owner", path);
  const asked = await world.call("POST", "/v1/orgs", { body: { name: "x" }, token: owner.secret });
  expect(refused(asked)).toEqual([403, "forbidden"]);
  expect((await members.me(owner.secret)).scopes).not.toContain("platform:write");
});

test("an organization's default egress is that of its sandboxes which name no other", async () => {
  const { id, path } = await members.newOrganization({ egress_default: "deny_all" });
  const create = async (egress?: Body) =>
    (
      await done(
        201,
        world.call<Sandbox>("POST", "/v1/sandboxes", {
          body: { template: "base", ...(egress === undefined ? {} : { egress }) },
          headers: { "x-org-id": id },
        }),
      )
    ).egress;
  expect(await create()).toMatchObject({ mode: "deny_all", dns: false });
  expect(await create({ deny_cidrs: ["203.0.113.0/24"] })).toMatchObject({ mode: "deny_all" });
  expect(await create({ mode: "allow_all" })).toMatchObject({ mode: "allow_all", dns: true });
  await done(200, world.call("PATCH", path, { body: { egress_default: "allow_all" } }));
  expect(await create()).toMatchObject({ mode: "allow_all" });
  expect(await create({ allow_cidrs: ["203.0.113.0/24"] })).toMatchObject({ mode: "deny_all" });
});

test("a new member comes with a first token, and is what their role says", async () => {
  const added = await done(201, members.add({ name: "Ada", email: "ada@example.org", role: "member" }));
  expect([added.name, added.email, added.role, added.token.bound]).toEqual([
    "Ada",
    "ada@example.org",
    "member",
    true,
  ]);
  const ada = await members.me(added.token.token);
  expect(ada).toMatchObject({
    user_id: added.user_id,
    name: "Ada",
    role: "member",
    organization_id: world.orgId,
  });
  const list = await done(200, world.call<{ items: Member[] }>("GET", `${members.home}/members`));
  expect(list.items.find(({ user_id }) => user_id === added.user_id)).toMatchObject({
    name: "Ada",
    role: "member",
  });
  expect(JSON.stringify(list)).not.toContain("sk_");
});

test("members are listed page by page", async () => {
  const { path } = await members.newOrganization();
  for (const role of roles) await members.newMember(role, path);
  const seen: string[] = [];
  let cursor = "";
  do {
    const query = `?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`;
    const page = await done(
      200,
      world.call<{ items: Member[]; next_cursor: string | null }>("GET", `${path}/members${query}`),
    );
    seen.push(...page.items.map(({ role }) => role));
    cursor = page.next_cursor ?? "";
  } while (cursor !== "");
  expect(seen).toEqual(["owner", "admin", "member", "viewer", "owner"]);
});

test("what cannot be a new member is refused", async () => {
  const member = await members.newMember("viewer");
  const wrong = [
    [{ role: "member" }, 400, "bad_request"],
    [{ name: "x" }, 400, "bad_request"],
    [{ name: "x", role: "king" }, 400, "bad_request"],
    [{ name: "x", user_id: member.user_id, role: "member" }, 400, "bad_request"],
    [{ user_id: member.user_id, email: "a@b", role: "member" }, 400, "bad_request"],
    [{ name: "x", email: "nobody", role: "member" }, 400, "bad_request"],
    [{ name: "\0", role: "member" }, 400, "bad_request"],
    [{ user_id: "usr_00000000000000000000000000", role: "member" }, 404, "user_not_found"],
    [{ user_id: "' or 1=1", role: "member" }, 404, "user_not_found"],
    [{ user_id: member.user_id, role: "member" }, 409, "already_member"],
  ] as const;
  for (const [body, status, code] of wrong) {
    expect(refused(await members.add(body)), JSON.stringify(body)).toEqual([status, code]);
  }
});

test("a member is not added twice, by name or by address, and the answer says who it is", async () => {
  const { path } = await members.newOrganization();
  const body = { name: "Bob", email: "bob@example.org", role: "member" };
  const bob = await done(201, members.add(body, { at: path }));
  for (const again of [
    { name: "Bob", role: "viewer" },
    { name: "Robert", email: "bob@example.org", role: "viewer" },
  ]) {
    const answer = await members.add(again, { at: path });
    expect([...refused(answer), answer.body["context"]]).toEqual([
      409,
      "already_member",
      { user_id: bob.user_id },
    ]);
  }
  const both = await Promise.all(
    [1, 2].map(() => members.add({ name: "Eve", role: "viewer" }, { at: path })),
  );
  expect(both.map(({ status }) => status)).toEqual(expect.arrayContaining([201, 409]));
  // What is elsewhere is none of this organization's business.
  const other = await members.newOrganization();
  await done(201, members.add(body, { at: other.path }));
  await done(204, members.remove(world.token, bob.user_id, path));
  await done(201, members.add(body, { at: path }));
});

test("the last owner stays, also where two owners go at the same time", async () => {
  const { path } = await members.newOrganization();
  const first = (await members.me(world.token)).user_id;
  expect(refused(await members.remove(world.token, first, path))).toEqual([409, "last_owner"]);
  expect(refused(await members.setRole(world.token, first, { role: "admin", at: path }))).toEqual([
    409,
    "last_owner",
  ]);
  expect((await members.setRole(world.token, first, { role: "owner", at: path })).status).toBe(200);
  for (let round = 0; round < 5; round += 1) {
    const second = await members.newMember("owner", path);
    const answers = await Promise.all([
      members.remove(second.secret, second.user_id, path),
      members.setRole(world.token, first, { role: "admin", at: path }),
      members.remove(world.token, first, path),
    ]);
    const { rows } = await sql<{ user_id: string }>`
      select user_id from memberships where org_id = ${path.slice(9)} and role = 'owner'`.execute(world.db);
    expect(rows.length, JSON.stringify(answers.map(({ text }) => text))).toBeGreaterThan(0);
    await sql`delete from memberships where org_id = ${path.slice(9)}`.execute(world.db);
    await sql`insert into memberships (org_id, user_id, role) values (${path.slice(9)}, ${first}, 'owner')`.execute(
      world.db,
    );
    world.context.tokenCache.forget(first);
  }
});

test("a removed member's tokens end at once, with all that they minted, and those of others stay", async () => {
  const gone = await members.newMember("member");
  const stays = await members.newMember("member");
  const child = await done(201, members.mint(gone.secret));
  const sandbox = await done(
    201,
    world.call<Sandbox>("POST", "/v1/sandboxes", { body: { template: "base" }, token: gone.secret }),
  );
  expect((await members.remove(world.token, gone.user_id)).status).toBe(204);
  for (const token of [gone.secret, child.token]) {
    expect((await world.call("GET", "/v1/auth/me", { token })).status).toBe(401);
  }
  expect((await members.me(stays.secret)).role).toBe("member");
  expect((await world.call("GET", `/v1/sandboxes/${sandbox.id}`)).status).toBe(200);
  expect(refused(await members.remove(world.token, gone.user_id))).toEqual([404, "member_not_found"]);
  // Back again, the old tokens stay dead.
  const back = await done(201, members.add({ user_id: gone.user_id, role: "viewer" }));
  expect((await world.call("GET", "/v1/auth/me", { token: gone.secret })).status).toBe(401);
  expect((await members.me(back.token.token)).role).toBe("viewer");
});

test("a member who is removed while minting keeps none of the tokens", async () => {
  for (let round = 0; round < 5; round += 1) {
    const member = await members.newMember("member");
    const minted = [1, 2, 3, 4].map(() => members.mint(member.secret));
    expect((await members.remove(world.token, member.user_id)).status).toBe(204);
    for (const { status, body } of await Promise.all(minted)) {
      if (status !== 201) expect([401, 404]).toContain(status);
      else expect((await world.call("GET", "/v1/auth/me", { token: body.token })).status).toBe(401);
    }
  }
});
