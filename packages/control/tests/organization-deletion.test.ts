// DELETE /v1/orgs/{id}: who may, what must be gone before, and what is left of it.

import { sql } from "kysely";
import { beforeAll, expect, test } from "vitest";
import type { AuditEvent } from "@skerry/contract/audit/audit-event";
import { newId } from "@skerry/contract/ids";
import { roles } from "@skerry/contract/organizations/roles";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { lockCapacity } from "../src/capacity/capacity-rows.ts";
import { done, Members, refused } from "./support/members.ts";
import { useWorld, waitingForLocks, eventually } from "./support/world.ts";

const world = useWorld();
let members: Members;
beforeAll(async () => {
  members = new Members(world);
});

const deleteAs = (token: string, path: string) => world.call("DELETE", path, { token });

async function organization() {
  const made = await members.newOrganization();
  const owner = await members.newMember("owner", made.path);
  return { ...made, owner };
}

test("an owner deletes an organization: its tokens end, its members are gone, and nothing finds it", async () => {
  const { id, path, owner } = await organization();
  const viewer = await members.newMember("viewer", path);
  const child = await done(201, members.mint(owner.secret));
  await done(204, deleteAs(owner.secret, path));
  for (const token of [owner.secret, viewer.secret, child.token])
    expect((await world.call("GET", "/v1/auth/me", { token })).status).toBe(401);
  // The operator made it, and was a member of it.
  expect(refused(await world.call("GET", path))).toEqual([404, "organization_not_found"]);
  expect(refused(await deleteAs(world.token, path))).toEqual([404, "organization_not_found"]);
  expect(refused(await world.call("GET", `${path}/limits`))).toEqual([404, "organization_not_found"]);
  expect(refused(await world.call("GET", "/v1/sandboxes", { headers: { "x-org-id": id } }))).toEqual([
    404,
    "organization_not_found",
  ]);
  expect((await world.call("GET", "/v1/orgs")).text).not.toContain(id);
  const { rows } = await sql<{ left: number }>`
    select count(*)::integer as left from memberships where org_id = ${id}`.execute(world.db);
  expect(rows[0]?.left).toBe(0);
});

/** The audit log of the organization that is named, or else of the token's own. */
function auditAs(token: string, named?: string, query = "") {
  const headers: Record<string, string> = named === undefined ? {} : { "x-org-id": named };
  return world.call<{ items: AuditEvent[]; next_cursor: string | null } & Record<string, unknown>>(
    "GET",
    `/v1/audit?action=organization.delete${query}`,
    { token, headers },
  );
}

async function deletionsOf(id: string, named?: string) {
  const { items } = await done(200, auditAs(world.token, named, `&resource_id=${id}`));
  return items.map(({ actor, request_id, organization_id, outcome }) => ({
    ...actor,
    request_id,
    organization_id,
    outcome,
  }));
}

test("its audit log and the operator's both tell which member deleted it, with which token, and from where", async () => {
  const { id, path, owner } = await organization();
  const { token_id } = await members.me(owner.secret);
  const answer = await deleteAs(owner.secret, path);
  expect(answer.status).toBe(204);
  const event = {
    kind: "user",
    user_id: owner.user_id,
    token_id,
    service: null,
    address: "127.0.0.1",
    request_id: answer.headers.get("x-request-id"),
    outcome: "success",
  };
  // Members of a deleted organization have a name in its own log alone.
  const unnamed = { user_name: null, token_name: null };
  const named = { user_name: owner.name, token_name: "invitation" };
  expect(await deletionsOf(id)).toEqual([{ ...event, ...unnamed, organization_id: world.orgId }]);
  expect(await deletionsOf(id, id)).toEqual([{ ...event, ...named, organization_id: id }]);
});

test("where the operator deleted it the operator's log says which person, and its own that the operator did", async () => {
  const { id, path, owner } = await organization();
  await members.remove(owner.secret, (await members.me(world.token)).user_id, path);
  const answer = await deleteAs(world.token, path);
  expect(answer.status).toBe(204);
  const { user_id, token_id } = await members.me(world.token);
  expect(await deletionsOf(id)).toMatchObject([
    {
      kind: "user",
      user_id,
      token_id,
      address: "127.0.0.1",
      request_id: answer.headers.get("x-request-id"),
    },
  ]);
  expect(await deletionsOf(id, id)).toMatchObject([
    { kind: "system", service: "operator", user_id: null, token_id: null, address: null, request_id: null },
  ]);
});

test("the operator reads the whole log of a deleted organization, page by page, and nothing else of it", async () => {
  const { id, path, owner } = await organization();
  const headers = { "x-org-id": id };
  await done(201, members.mint(owner.secret));
  await done(204, deleteAs(owner.secret, path));
  const operating = await done(201, members.mint(world.token, { scopes: ["platform:write"] }));
  const actions: string[] = [];
  let cursor = "";
  do {
    const page = await done(
      200,
      world.call<{ items: AuditEvent[]; next_cursor: string | null }>("GET", `/v1/audit?limit=1${cursor}`, {
        token: operating.token,
        headers,
      }),
    );
    for (const event of page.items) {
      expect(event.organization_id).toBe(id);
      actions.push(event.action);
    }
    cursor = page.next_cursor === null ? "" : `&cursor=${page.next_cursor}`;
  } while (cursor !== "");
  expect(actions.toSorted()).toEqual(["member.add", "organization.delete", "token.create"]);
  for (const other of ["/v1/auth/tokens", "/v1/machines", "/v1/auth/me", "/v1/limits"])
    expect(refused(await world.call("GET", other, { headers })), other).toEqual([
      404,
      "organization_not_found",
    ]);
});

test("nobody but the operator learns that a deleted organization was there", async () => {
  const { id, path, owner } = await organization();
  const elsewhere = await organization();
  const admin = await members.newMember("admin", path);
  // A former owner whose token is of another organization: the deletion does not end it.
  const { user_id, secret: former } = owner;
  await sql`insert into memberships (org_id, user_id, role) values (${elsewhere.id}, ${user_id}, 'owner')`.execute(
    world.db,
  );
  await sql`update api_tokens set org_id = ${elsewhere.id}, bound = false where user_id = ${user_id}`.execute(
    world.db,
  );
  world.context.tokenCache.forget(user_id);
  expect((await auditAs(former, id)).status).toBe(200);
  await done(204, deleteAs(former, path));
  const lowly = await Promise.all((["viewer", "member"] as const).map((role) => members.newMember(role)));
  const scoped = await done(201, members.mint(world.token, { scopes: ["audit:read", "org:write"] }));
  const others = [former, elsewhere.owner.secret, ...lowly.map(({ secret }) => secret), scoped.token];
  const neverWas = newId("organization");
  for (const token of others) {
    const [gone, none] = [await auditAs(token, id), await auditAs(token, neverWas)];
    expect(refused(gone)).toEqual([404, "organization_not_found"]);
    expect({ ...gone.body, request_id: null }).toEqual({ ...none.body, request_id: null });
  }
  expect((await auditAs(former)).status).toBe(200);
  expect((await auditAs(admin.secret, id)).status).toBe(401);
});

test("the operator reads no log of an organization of others that is not deleted", async () => {
  const { id, path, owner } = await organization();
  await members.remove(owner.secret, (await members.me(world.token)).user_id, path);
  for (const named of [id, newId("organization"), "", "org_x", `${id},${id}`, world.orgId.toUpperCase()])
    expect(refused(await auditAs(world.token, named)), named).toEqual([404, "organization_not_found"]);
  expect((await auditAs(owner.secret)).status).toBe(200);
});

test("the operator deletes an organization without being a member, and no other stranger does", async () => {
  const { id, path, owner } = await organization();
  await sql`delete from memberships where org_id = ${id} and user_id <> ${owner.user_id}`.execute(world.db);
  const elsewhere = await organization();
  expect(refused(await deleteAs(elsewhere.owner.secret, path))).toEqual([404, "organization_not_found"]);
  for (const role of roles.filter((name) => name === "viewer" || name === "member")) {
    const { secret } = await members.newMember(role);
    expect(refused(await deleteAs(secret, path)), role).toEqual([404, "organization_not_found"]);
  }
  const scoped = await done(201, members.mint(world.token, { scopes: ["org:write"] }));
  expect(refused(await deleteAs(scoped.token, path))).toEqual([404, "organization_not_found"]);
  const operating = await done(201, members.mint(world.token, { scopes: ["platform:write"] }));
  await done(204, deleteAs(operating.token, path));
  expect((await world.call("GET", "/v1/auth/me", { token: owner.secret })).status).toBe(401);
});

test("of its members only an owner with the scope may", async () => {
  const { path, owner } = await organization();
  for (const role of ["viewer", "member", "admin"] as const) {
    const { secret } = await members.newMember(role, path);
    expect(refused(await deleteAs(secret, path)), role).toEqual([403, "forbidden"]);
  }
  const { token } = await done(201, members.mint(owner.secret, { scopes: ["org:read", "sandboxes:write"] }));
  expect(refused(await deleteAs(token, path))).toEqual([403, "forbidden"]);
});

test("what is left in it is named, and what has failed or was destroyed is not in the way", async () => {
  const { id, path, owner } = await organization();
  const { secret: token } = owner;
  const create = (table: string) =>
    done(201, world.call<Sandbox>("POST", `/v1/${table}`, { token, body: { template: "base" } }));
  const [one, two, machine] = [
    await create("sandboxes"),
    await create("sandboxes"),
    await create("machines"),
  ];
  const first = await deleteAs(token, path);
  expect(refused(first)).toEqual([409, "organization_not_empty"]);
  expect(first.body).toMatchObject({
    message: "The organization still has 2 sandboxes and 1 machine.",
    context: { sandboxes: 2, machines: 1 },
  });
  await done(204, world.call("DELETE", `/v1/sandboxes/${one.id}`, { token }));
  await done(204, world.call("DELETE", `/v1/machines/${machine.id}`, { token }));
  expect((await deleteAs(token, path)).body["message"]).toBe("The organization still has 1 sandbox.");
  await sql`update sandboxes set status = 'failed' where id = ${two.id}`.execute(world.db);
  await done(204, deleteAs(token, path));
  expect(id).toMatch(/^org_/);
});

test("the operator's own organization cannot be deleted", async () => {
  const answer = await deleteAs(world.token, `/v1/orgs/${world.orgId}`);
  expect(refused(answer)).toEqual([409, "operator_organization"]);
  for (const path of ["/v1/orgs/org_x", `/v1/orgs/${"y".repeat(200)}`])
    expect(refused(await deleteAs(world.token, path))).toEqual([404, "organization_not_found"]);
});

test("a request that was let in before the deletion places nothing after it", async () => {
  const { id, path, owner } = await organization();
  const hosts = await world.call<{ items: { id: string }[] }>("GET", "/v1/hosts");
  const hostId = hosts.body.items[0]?.id ?? "";
  const held = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const deleting = world.db.transaction().execute(async (transaction) => {
    await sql`select 1 from organizations where id = ${id} for no key update`.execute(transaction);
    held.resolve();
    await release.promise;
  });
  await held.promise;
  // Both wait: the deletion for the lock, and the placement behind it.
  const deleted = deleteAs(owner.secret, path);
  await eventually(async () => (await waitingForLocks(world.db)) === 1, "the deletion waits");
  const placed = world.db
    .transaction()
    .execute((transaction) => lockCapacity(transaction, id, hostId))
    .catch((error: unknown) => error);
  await eventually(async () => (await waitingForLocks(world.db)) === 2, "the placement waits");
  release.resolve();
  await deleting;
  expect((await deleted).status).toBe(204);
  expect(await placed).toMatchObject({ code: "organization_not_found" });
});
