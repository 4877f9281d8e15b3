// What those try who want to be more than they are.

import { request } from "node:http";
import { beforeAll, expect, test } from "vitest";
import type { Organization } from "@skerry/contract/organizations/organization";
import type { Token } from "@skerry/contract/organizations/token";
import { done, Members, refused } from "./support/members.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
let members: Members;
beforeAll(async () => {
  members = new Members(world);
});

test("somebody known is added to a second organization, and the token for it opens nothing in the first", async () => {
  const known = await members.newMember("admin");
  const { id, path } = await members.newOrganization();
  const curious = await members.newMember("admin", path);
  const added = await done(
    201,
    members.add({ user_id: known.user_id, role: "viewer" }, { token: curious.secret, at: path }),
  );
  expect(await members.me(added.token.token)).toMatchObject({ organization_id: id, role: "viewer" });
  // Whoever handed the token out knows it, and must not come to what its user is elsewhere.
  for (const headers of [{ "x-org-id": world.orgId }, { "x-org-id": world.orgId.toUpperCase() }]) {
    const tried = await world.call("GET", "/v1/auth/me", { token: added.token.token, headers });
    expect(refused(tried)).toEqual([404, "organization_not_found"]);
  }
  expect(refused(await world.call("GET", members.home, { token: added.token.token }))).toEqual([
    404,
    "organization_not_found",
  ]);
  const list = await done(
    200,
    world.call<{ items: Organization[] }>("GET", "/v1/orgs", { token: added.token.token }),
  );
  expect(list.items.map((item) => item.id)).toEqual([id]);
});

test("an admin neither makes, changes nor removes an owner, and nobody raises their own role", async () => {
  const owner = await members.newMember("owner");
  const admin = await members.newMember("admin");
  const member = await members.newMember("member");
  const attempts = [
    members.add({ name: "accomplice", role: "owner" }, { token: admin.secret }),
    members.setRole(admin.secret, admin.user_id, { role: "owner" }),
    members.setRole(admin.secret, member.user_id, { role: "owner" }),
    members.setRole(admin.secret, owner.user_id, { role: "viewer" }),
    members.remove(admin.secret, owner.user_id),
    members.setRole(member.secret, member.user_id, { role: "admin" }),
    members.setRole(member.secret, member.user_id, { role: "member" }),
    members.add({ name: "friend", role: "viewer" }, { token: member.secret }),
    members.remove(member.secret, admin.user_id),
    world.call("PATCH", members.home, { token: member.secret, body: { name: "mine" } }),
  ];
  for (const attempt of await Promise.all(attempts)) expect(refused(attempt)).toEqual([403, "forbidden"]);
  expect((await members.me(admin.secret)).role).toBe("admin");
  expect((await members.me(member.secret)).role).toBe("member");
  expect((await members.setRole(owner.secret, member.user_id, { role: "admin" })).status).toBe(200);
  expect((await members.me(member.secret)).role).toBe("admin");
});

test("a demoted member's tokens, old and new, are worth what the new role is", async () => {
  const admin = await members.newMember("admin");
  const child = await done(
    201,
    members.mint(admin.secret, { scopes: ["org:write", "sandboxes:write", "sandboxes:read"] }),
  );
  expect((await members.setRole(world.token, admin.user_id, { role: "viewer" })).status).toBe(200);
  for (const token of [admin.secret, child.token]) {
    expect((await world.call("GET", "/v1/sandboxes", { token })).status).toBe(200);
    const create = await world.call("POST", "/v1/sandboxes", { body: { template: "base" }, token });
    expect(refused(create)).toEqual([403, "forbidden"]);
    expect(refused(await members.setRole(token, admin.user_id, { role: "admin" }))).toEqual([
      403,
      "forbidden",
    ]);
  }
  expect(refused(await members.mint(admin.secret))).toEqual([403, "forbidden"]);
  // Its own tokens it may still end.
  const ended = await world.call("DELETE", `/v1/auth/tokens/${child.id}`, { token: admin.secret });
  expect(ended.status).toBe(204);
});

test("a token mints no scope that it has not, neither here nor by way of another organization", async () => {
  const { id } = await members.newOrganization();
  const limited = await done(201, members.mint(world.token, { scopes: ["sandboxes:read", "tokens:write"] }));
  expect(limited.scopes).toEqual(["sandboxes:read", "tokens:write"]);
  for (const scopes of [["*"], ["sandboxes:write"], ["sandboxes:read", "org:write"], ["tokens:read"]]) {
    for (const headers of [{}, { "x-org-id": id }]) {
      const tried = await members.mint(limited.token, { scopes }, headers);
      expect([...refused(tried), tried.body["context"]]).toEqual([
        403,
        "forbidden",
        expect.objectContaining({ field: "scopes" }),
      ]);
    }
  }
  const silent = await done(201, members.mint(limited.token, {}, { "x-org-id": id }));
  expect(silent.scopes).toEqual(limited.scopes);
  const narrower = await done(201, members.mint(limited.token, { scopes: ["sandboxes:read"] }));
  expect((await world.call("GET", "/v1/sandboxes", { token: narrower.token })).status).toBe(200);
  for (const token of [limited.token, silent.token, narrower.token]) {
    const create = await world.call("POST", "/v1/sandboxes", { body: { template: "base" }, token });
    expect(refused(create)).toEqual([403, "forbidden"]);
  }
  expect(refused(await members.mint(narrower.token))).toEqual([403, "forbidden"]);
  for (const scopes of [[], ["sandboxes:fly"], ["sandboxes:read", "sandboxes:read"], "*", [null]]) {
    expect((await members.mint(world.token, { scopes })).status, JSON.stringify(scopes)).toBe(400);
  }
});

test("a bound token mints bound ones, and stays where it is", async () => {
  const { id } = await members.newOrganization();
  const bound = await done(201, members.mint(world.token, { bound: true }));
  expect(refused(await members.mint(bound.token, { bound: false }))).toEqual([403, "forbidden"]);
  const child = await done(201, members.mint(bound.token));
  for (const token of [bound.token, child.token]) {
    const elsewhere = await world.call("GET", "/v1/auth/me", { token, headers: { "x-org-id": id } });
    expect(refused(elsewhere)).toEqual([404, "organization_not_found"]);
    expect((await members.me(token)).organization_id).toBe(world.orgId);
  }
});

test("an invitation gives no more than the token that asks for it has", async () => {
  const short = await done(
    201,
    members.mint(world.token, { scopes: ["org:write", "tokens:write"], expires_in: "1h" }),
  );
  const accomplice = await done(
    201,
    members.add({ name: "accomplice", role: "admin" }, { token: short.token }),
  );
  expect(accomplice.token).toMatchObject({ scopes: short.scopes, expires_at: short.expires_at });
  const create = await world.call("POST", "/v1/sandboxes", {
    body: { template: "base" },
    token: accomplice.token.token,
  });
  expect(refused(create)).toEqual([403, "forbidden"]);
});

test("the role in the organization that is meant counts, not the one at home", async () => {
  const { id, path } = await members.newOrganization();
  const first = (await members.me(world.token)).user_id;
  await members.newMember("owner", path);
  expect((await members.setRole(world.token, first, { role: "viewer", at: path })).status).toBe(200);
  const headers = { "x-org-id": id };
  const create = () => world.call("POST", "/v1/sandboxes", { body: { template: "base" }, headers });
  expect(refused(await create())).toEqual([403, "forbidden"]);
  expect(refused(await members.mint(world.token, {}, headers))).toEqual([403, "forbidden"]);
  expect(refused(await members.setRole(world.token, first, { role: "owner", at: path }))).toEqual([
    403,
    "forbidden",
  ]);
  expect((await world.call("GET", "/v1/sandboxes", { headers })).status).toBe(200);
  // A header that names where the caller is owner changes nothing about the path.
  const tried = await world.call("PATCH", path, {
    body: { name: "x" },
    headers: { "x-org-id": world.orgId },
  });
  expect(refused(tried)).toEqual([403, "forbidden"]);
});

test("a header or a path that names several organizations, or something odd, names none", async () => {
  const { id } = await members.newOrganization();
  const { port } = new URL(world.url);
  const statusWith = (values: string[]) =>
    new Promise<number | undefined>((resolve, reject) => {
      request(
        {
          port,
          path: "/v1/sandboxes",
          headers: { authorization: `Bearer ${world.token}`, "x-org-id": values },
        },
        (response) => resolve(response.resume().statusCode),
      )
        .on("error", reject)
        .end();
    });
  expect(await statusWith([id])).toBe(200);
  for (const values of [
    [id, world.orgId],
    [id, id],
    [`${id},`],
    [`${id}%00`],
    [id.toUpperCase()],
    ["none"],
    ["null"],
    ["*"],
    ["%"],
    ["' or '1'='1"],
    ["x".repeat(5_000)],
  ]) {
    expect([400, 404], values.join().slice(0, 60)).toContain(await statusWith(values));
  }
  for (const path of [`${id}%2f`, `${id}%00`, id.toUpperCase(), "none", "__proto__", "constructor"]) {
    expect((await world.call("GET", `/v1/orgs/${path}`)).status, path).toBe(404);
  }
});

test("everybody sees and ends their own tokens, an admin also those of others, and only an owner an owner's", async () => {
  const admin = await members.newMember("admin");
  const member = await members.newMember("member");
  const viewer = await members.newMember("viewer");
  const listed = async (token: string) => {
    const page = await done(
      200,
      world.call<{ items: Token[] }>("GET", "/v1/auth/tokens?limit=500", { token }),
    );
    return new Set(page.items.map(({ user_id }) => user_id));
  };
  expect(await listed(member.secret)).toEqual(new Set([member.user_id]));
  expect(await listed(viewer.secret)).toEqual(new Set([viewer.user_id]));
  expect([...(await listed(admin.secret))]).toEqual(
    expect.arrayContaining([admin.user_id, member.user_id, viewer.user_id]),
  );
  const end = (token: string, id: string) => world.call("DELETE", `/v1/auth/tokens/${id}`, { token });
  expect(refused(await end(member.secret, viewer.token.id))).toEqual([404, "token_not_found"]);
  expect(refused(await end(member.secret, "tok_00000000000000000000000000"))).toEqual([
    404,
    "token_not_found",
  ]);
  const owners = (await members.me(world.token)).token_id;
  expect(refused(await end(admin.secret, owners))).toEqual([403, "forbidden"]);
  expect(refused(await end(member.secret, owners))).toEqual([404, "token_not_found"]);
  expect((await end(admin.secret, member.token.id)).status).toBe(204);
  expect((await world.call("GET", "/v1/auth/me", { token: member.secret })).status).toBe(401);
  expect((await end(viewer.secret, viewer.token.id)).status).toBe(204);
});
