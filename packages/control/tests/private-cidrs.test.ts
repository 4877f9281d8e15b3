// Private networks are the operator's: what organizations may allow of them, and what hosts are told.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AuditList } from "@skerry/contract/audit/audit-event";
import type { EgressReport, HostEgress } from "@skerry/contract/vms/egress";
import type { Organization } from "@skerry/contract/organizations/organization";
import { withGrants } from "@skerry/contract/vms/networks";
import { vmReconciler } from "../src/platform/vm-reconciler.ts";
import { changePrivateCidrs } from "../src/organizations/private-cidrs.ts";
import { privateCidrs as migration } from "../src/db/migrations/0014-private-cidrs.ts";
import { done, Members, refused, type Body } from "./support/members.ts";
import { activateBuilder, buildNow, newBuild, untilBuild } from "./support/builds.ts";
import { eventually, World, type Answer } from "./support/world.ts";

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world[Symbol.asyncDispose]());

const grant = (...cidrs: string[]): Promise<unknown> =>
  changePrivateCidrs(world.context, [world.orgId, ...(cidrs.length === 0 ? ["none"] : cidrs)]);
const onHost = (id: string): HostEgress | undefined => world.host.vms.get(id)?.spec.egress;
const put = (id: string, body: unknown): Promise<Answer<EgressReport & Body>> =>
  world.call("PUT", `/v1/sandboxes/${id}/egress`, { body });
const cleanUp = () => vmReconciler(world.context, 1_000).activate(new AbortController().signal);

test("a private network is refused until it is granted, with the operator named, wherever it is asked for", async () => {
  const body = { template: "base", egress: { allow_cidrs: ["203.0.113.0/24", "10.20.0.0/16"] } };
  for (const path of ["/v1/sandboxes", "/v1/machines"]) {
    const answer = await world.call<Body>("POST", path, { body });
    expect(refused(answer)).toEqual([403, "egress_forbidden"]);
    expect(answer.body).toMatchObject({
      remediation: expect.stringContaining("operator") as string,
      context: { field: "egress.allow_cidrs[1]", value: "10.20.0.0/16" },
    });
  }
  const { id } = await world.createSandbox();
  expect(refused(await put(id, { allow_cidrs: ["192.168.1.1"] }))).toEqual([403, "egress_forbidden"]);
  await grant("10.20.0.0/17", "10.20.128.0/17");
  const sandbox = await done(201, world.call<{ id: string }>("POST", "/v1/sandboxes", { body }));
  expect(onHost(sandbox.id)?.allow_cidrs).toEqual(["10.20.0.0/16", "203.0.113.0/24"]);
  expect(refused(await put(id, { allow_cidrs: ["10.0.0.0/8"] }))).toEqual([403, "egress_forbidden"]);
});

test("a wide network is accepted, and its host is told what is granted of the private ones", async () => {
  const egress = { allow_cidrs: ["0.0.0.0/0"], allow_ports: [443] };
  const before = await world.createSandbox({ egress });
  expect(onHost(before.id)).toEqual(before.egress);
  await grant("10.20.0.0/16");
  const machine = await world.createMachine({ egress });
  expect(onHost(machine.id)).toEqual({ ...machine.egress, private_cidrs: ["10.20.0.0/16"] });
  expect(machine.egress).not.toHaveProperty("private_cidrs");
  const told = await put(before.id, { allow_cidrs: ["8.0.0.0/6"] });
  expect(told.body).not.toHaveProperty("private_cidrs");
  expect(onHost(before.id)).toMatchObject({ private_cidrs: ["10.20.0.0/16"] });
  await put(before.id, { allow_cidrs: ["203.0.113.0/24"] });
  expect(onHost(before.id)).not.toHaveProperty("private_cidrs");
});

test("a change of grants reaches what runs, also what was being started meanwhile", async () => {
  await grant("10.20.0.0/16");
  const egress = { allow_cidrs: ["10.20.0.0/16"] };
  const sandbox = await world.createSandbox({ egress });
  const machine = await world.createMachine({ egress });
  const other = await world.createSandbox();
  world.host.beforeStart = async () => {
    world.host.beforeStart = async () => undefined;
    await grant();
  };
  const late = await world.createSandbox({ egress });
  expect(onHost(late.id)).toEqual(late.egress);
  expect(await cleanUp()).toMatchObject({ changed: 3, failed: 0 });
  for (const { id } of [sandbox, machine, late]) expect(onHost(id)).toMatchObject({ private_cidrs: [] });
  expect(onHost(other.id)).toEqual(other.egress);
  await grant("10.20.7.0/24");
  expect(await cleanUp()).toMatchObject({ changed: 3, failed: 0 });
  for (const { id } of [sandbox, machine, late])
    expect(onHost(id)).toMatchObject({ private_cidrs: ["10.20.7.0/24"] });
  await grant("10.20.0.0/16");
  await cleanUp();
  expect(onHost(late.id)).toEqual(late.egress);
  expect(await cleanUp()).toMatchObject({ changed: 0, failed: 0 });
});

test("a build that may reach a network is canceled when that is withdrawn, and no other one", async () => {
  await grant("10.20.0.0/16", "192.168.7.0/24");
  const steps = [{ run: "forever" }];
  const withdrawn = await newBuild(world, { steps, egress: { allow_cidrs: ["10.20.3.0/24"] } });
  const kept = await newBuild(world, {
    steps,
    egress: { allow_cidrs: ["192.168.7.0/24", "203.0.113.0/24"] },
  });
  const stop = new AbortController();
  const building = activateBuilder(world, stop.signal);
  for (const { id } of [withdrawn, kept]) await untilBuild(world, id, "building");
  expect(onHost(withdrawn.id)?.allow_cidrs).toEqual(["10.20.3.0/24"]);
  // Wider, so nothing is withdrawn.
  await grant("10.0.0.0/8", "192.168.7.0/24");
  expect((await buildNow(world, withdrawn.id)).status).toBe("building");
  await grant("10.20.128.0/17", "192.168.7.0/24");
  expect(await buildNow(world, withdrawn.id)).toMatchObject({
    status: "canceled",
    error: { code: "egress_forbidden" },
  });
  await eventually(() => !world.host.vms.has(withdrawn.id), "its microVM is gone");
  expect((await buildNow(world, kept.id)).status).toBe("building");
  expect(world.host.vms.has(kept.id)).toBe(true);
  stop.abort();
  await building.catch(() => undefined);
});

test("a grant that was taken back while a host was lost reaches the machine that comes back with it", async () => {
  await grant("10.20.0.0/16");
  const machine = await world.createMachine({ egress: { allow_cidrs: ["10.20.0.0/16"] } });
  await sql`update machines set status = 'failed', host_lost = true, version = version + 1`.execute(world.db);
  await grant();
  await cleanUp();
  await cleanUp();
  expect((await world.call("GET", `/v1/machines/${machine.id}`)).body).toMatchObject({ status: "running" });
  expect(onHost(machine.id)).toMatchObject({ private_cidrs: [] });
});

test("no token grants anything, not even an owner's of the operator's organization", async () => {
  const members = new Members(world);
  const { path } = await members.newOrganization();
  const owner = await members.newMember("owner", path);
  for (const token of [world.token, owner.secret]) {
    const body = { allowed_private_cidrs: ["10.0.0.0/8"] };
    expect(refused(await world.call("PATCH", path, { token, body }))).toEqual([400, "unknown_field"]);
    const shown = await done(200, world.call<Organization>("GET", path, { token }));
    expect(shown.allowed_private_cidrs).toEqual([]);
  }
});

test("a grant is for one organization, shown to it, told to the operator, and in the audit log", async () => {
  const { id, path } = await new Members(world).newOrganization({ name: "Other" });
  await changePrivateCidrs(world.context, [id, "10.20.0.0/16", "10.1.0.0/16", "10.20.0.0/16"]);
  const granted = { allowed_private_cidrs: ["10.1.0.0/16", "10.20.0.0/16"] };
  expect(await changePrivateCidrs(world.context, [id])).toEqual(granted);
  expect(await changePrivateCidrs(world.context, [])).toEqual([
    { organization_id: id, name: "Other", ...granted },
  ]);
  expect((await world.call("GET", path)).body).toMatchObject(granted);
  expect((await world.call("GET", `/v1/orgs/${world.orgId}`)).body).toMatchObject({
    allowed_private_cidrs: [],
  });
  const body = { template: "base", egress: { allow_cidrs: ["10.1.0.0/16"] } };
  expect(refused(await world.call("POST", "/v1/sandboxes", { body }))).toEqual([403, "egress_forbidden"]);
  const events = await done(200, world.call<AuditList>("GET", "/v1/audit", { headers: { "x-org-id": id } }));
  expect(events.items).toContainEqual(
    expect.objectContaining({
      action: "organization.private_cidrs",
      resource: { kind: "organization", id, name: expect.any(String) },
    }),
  );
});

test.each([
  ["no network", ["10.0.0"], "not an IPv4 network"],
  ["bits after the prefix", ["10.0.0.1/8"], 'the network is "10.0.0.0/8"'],
  ["a public network", ["203.0.113.0/24"], "needs no grant"],
  ["a network that is wider than a private one", ["192.160.0.0/11"], "needs no grant"],
  ["a metadata service", ["100.100.100.200"], "the metadata service of Alibaba Cloud"],
  ["one fault among others", ["10.0.0.0/8", "none"], '"none" is not an IPv4 network'],
])("%s cannot be granted", async (_what, cidrs, why) => {
  await expect(changePrivateCidrs(world.context, [world.orgId, ...cidrs])).rejects.toThrow(why);
  expect(await changePrivateCidrs(world.context, [world.orgId])).toEqual({ allowed_private_cidrs: [] });
});

test("an organization that is not there is granted nothing", async () => {
  await expect(changePrivateCidrs(world.context, ["org_x", "10.0.0.0/8"])).rejects.toThrow("no organization");
  await expect(changePrivateCidrs(world.context, ["org_x"])).rejects.toThrow("no organization");
});

test("an upgrade grants each organization what its sandboxes and machines name, and says so", async () => {
  await grant("10.0.0.0/8");
  await world.createSandbox({ egress: { allow_cidrs: ["10.20.0.0/16", "203.0.113.0/24", "0.0.0.0/0"] } });
  const machine = await world.createMachine({ egress: { allow_cidrs: ["10.20.0.0/16", "10.1.2.3"] } });
  const past = await world.createSandbox({ egress: { allow_cidrs: ["10.99.0.0/16"] } });
  await done(204, world.call("DELETE", `/v1/sandboxes/${past.id}`));
  const { id } = await new Members(world).newOrganization();
  await sql`alter table organizations drop column allowed_private_cidrs`.execute(world.db);
  await sql.raw(migration).execute(world.db);
  expect(await changePrivateCidrs(world.context, [world.orgId])).toEqual({
    allowed_private_cidrs: ["10.1.2.3/32", "10.20.0.0/16"],
  });
  expect(await changePrivateCidrs(world.context, [id])).toEqual({ allowed_private_cidrs: [] });
  expect(onHost(machine.id)).toEqual(machine.egress);
  expect(await cleanUp()).toMatchObject({ changed: 0, failed: 0 });
  const { items } = await done(200, world.call<AuditList>("GET", "/v1/audit"));
  const told = items.filter(({ actor }) => actor.service === "migration");
  expect(
    told.map(({ id: event, action, resource }) => [
      /^aud_[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(event),
      action,
      resource.id,
    ]),
  ).toEqual([[true, "organization.private_cidrs", world.orgId]]);
});

test("a host is told of grants only where they change something", () => {
  const policy = { mode: "deny_all" as const, deny_cidrs: [], allow_ports: [], dns: false };
  const told = (allow: string[], granted: string[]): readonly string[] | undefined =>
    withGrants({ ...policy, allow_cidrs: allow, private_cidrs: ["10.0.0.0/8"] }, granted).private_cidrs;
  expect(told([], ["10.0.0.0/8"])).toBeUndefined();
  expect(told(["203.0.113.0/24"], ["10.0.0.0/8"])).toBeUndefined();
  expect(told(["0.0.0.0/0"], [])).toBeUndefined();
  expect(told(["10.1.0.0/16"], ["10.0.0.0/9", "10.128.0.0/9"])).toBeUndefined();
  expect(told(["10.0.0.0/8"], ["10.0.0.0/9", "10.128.0.0/9"])).toBeUndefined();
  expect(told(["10.1.0.0/16"], [])).toEqual([]);
  expect(told(["10.0.0.0/8"], ["10.0.0.0/9"])).toEqual(["10.0.0.0/9"]);
  expect(told(["0.0.0.0/1"], ["10.0.0.0/9", "192.168.0.0/24"])).toEqual(["10.0.0.0/9"]);
});
