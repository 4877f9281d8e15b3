// DELETE /v1/orgs/{id}: who may, what must be gone before, and what is left of it.

import { sql } from "kysely";
import { beforeAll, expect, test } from "vitest";
import { roles } from "@skerry/contract/organizations/roles";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { lockCapacity } from "../src/capacity/capacity-store.ts";
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

test("its audit log is kept, and the operator's log tells of the deletion", async () => {
  const { id, path, owner } = await organization();
  await done(204, deleteAs(owner.secret, path));
  const { rows } = await sql<{ org_id: string; user_id: string | null }>`
    select org_id, user_id from audit_events where action = 'organization.delete' and resource_id = ${id}
    order by user_id nulls last`.execute(world.db);
  expect(rows).toEqual([
    { org_id: id, user_id: owner.user_id },
    { org_id: world.orgId, user_id: null },
  ]);
  const log = await world.call<{ items: { resource: { id: string } }[] }>(
    "GET",
    "/v1/audit?action=organization.delete",
  );
  expect(log.body.items.map(({ resource }) => resource.id)).toContain(id);
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
